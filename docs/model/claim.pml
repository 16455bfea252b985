/* The claim protocol of a session directory, for Spin. README.md beside this file is the guide.
 *
 * Every `atomic` block is one step of one process: one system call that others can see, or several
 * of which only one is seen. Between two steps any other process may run, and where the block says
 * so this one may die. A process that is delivered late is one whose first step comes late; one
 * that is delivered twice is two processes.
 *
 * A trap of the language: `else` is closed as long as any option of the same `if` is open, and an
 * `if` at the head of an option counts as part of it. Where dying is an option nothing says `else`.
 */

/* ---- the size of a configuration; tests/model/run.sh sets it -------------------------------- */
#ifndef LAUNCHES
#define LAUNCHES 1        /* deliveries of `launch` */
#endif
#ifndef STOPS
#define STOPS 1           /* deliveries of `stop`; one more comes at the very end */
#endif
#ifndef UPSTREAM_STOPS
#define UPSTREAM_STOPS 0  /* deliveries of upstream's shell text for a stop */
#endif
#ifndef REMOVES
#define REMOVES 1         /* deliveries of `remove` */
#endif
#ifndef CREATES
#define CREATES 0         /* 1: the path is used again, by one `create` */
#endif
#ifndef KILLS
#define KILLS 1           /* at most so many halves die; stops and removes may die at every step */
#endif
#ifndef CGROUPS
#define CGROUPS 1         /* 0: there is no cgroup to be had, and nothing to prove a recovery by */
#endif
#define DIRECTORIES (1 + CREATES)

#include "mutations.pml"
#include "properties.pml"
#include "world.pml"
#include "launch.pml"
#include "stop.pml"
#include "remove.pml"

/* ============================================================================================= */
init {
  byte i;
  atomic {
    /* How many halves die is not known beforehand. */
    do
    :: kills < KILLS -> kills++
    :: break
    od;
    for (i : 1 .. LAUNCHES) { run Launch(i) }
#if STOPS
    for (i : 1 .. STOPS) { run Stop(i, false) }
#endif
#if UPSTREAM_STOPS
    for (i : 1 .. UPSTREAM_STOPS) { run UpstreamStop() }
#endif
#if REMOVES
    for (i : 1 .. REMOVES) { run Remove() }
#endif
#if CREATES
    run Create();
#endif
    i = 0
  }
  /* When nothing moves any more, one more stop comes. */
  timeout -> run Stop(STOPS + 1, true)
}

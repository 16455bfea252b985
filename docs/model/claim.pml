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

/* ---- mutations: faults of an implementation, each of which must break a property ------------ */
#define NONE 0
#define CLAIM_AFTER_PID 1          /* launch writes its pid file first, and claims then */
#define CLAIM_NOT_CHECKED 2        /* launch goes on although the claim exists */
#define LAUNCH_FOLLOWS_INODE 3     /* launch does not look again what DIR names, under the lock */
#define STOP_FOLLOWS_INODE 4       /* stop does not */
#define REMOVE_FOLLOWS_INODE 5     /* remove does not */
#define STOP_UNLOCKED 6            /* stop does not take the lock */
#define REMOVE_UNLOCKED 7          /* remove does not */
#define GUARDIAN_UNLOCKED 8        /* only the supervisor holds the lock */
#define SUPERVISOR_UNLOCKED 9      /* only the guardian does */
#define WORKER_LOCKED 10           /* the descriptor of the lock survives the worker's exec */
#define CHILD_UNLOCKED_EARLY 11    /* the child closes it at once, and not at its exec */
#define RECEIPT_BEFORE_END 12      /* the supervisor writes the receipt, and ends the tree then */
#define GUARDIAN_FORGETS 13        /* taking over, it does not look whether the receipt is there */
#define RECOVERY_WITHOUT_PROOF 14  /* stop confirms because it found nobody */
#define LEAF_OUTLIVED 15           /* a worker that cannot join the leaf runs beside it */
#define LEAF_INHERITED 16          /* the leaf's name can come again, with the directory's number */
#define STOP_UNWATCHED 17          /* the supervisor looks for stop.request only before the fork */
#define NO_LAST_LOOK 18            /* it looks only after the fork */
#define REMOVE_PUTS_BACK 19        /* remove renames, looks then, and renames back */
#define REMOVE_LOST 20             /* remove takes a session away whose worker may be alive */
#ifndef MUTATION
#define MUTATION NONE
#endif
#define HAS(mutation) (MUTATION == mutation)

/* ---- the properties: the names under which run.sh reports them ------------------------------ */
mtype = {
  runs_once,      /* the worker of a session runs at most once */
  fenced,         /* no worker starts once a receipt stands, whatever the receipt says */
  heeded,         /* no worker starts if a stop was asked for before the claim, whatever became of
                     that stop */
  named,          /* a worker starts only in the session that DIR names: a stop can reach it */
  true_receipt,   /* when a confirmed receipt appears nobody of the tree is alive; by `fenced`
                     nobody will be */
  final_receipt,  /* a receipt that is there never changes */
  undeleted,      /* remove neither renames nor deletes the directory of a half that lives */
  unforgotten,    /* nor that of a worker that lives, before a receipt has said what is known */
  pid_of_winner,  /* when the worker starts, and when a stop believes it, supervisor.pid names the
                     launch that made the claim */
  reaches_end     /* when nothing moves any more, a last stop ends and leaves a receipt, unless
                     DIR is gone, which it calls unknown */
}
/* With -DONLY=NAME the others are not looked at: so run.sh asks whether a mutation breaks the one
 * that guards against it. */
#ifdef ONLY
#define LOOKED_AT(property) (property == ONLY)
#else
#define LOOKED_AT(property) true
#endif
#define MUST(property, condition) \
  if \
  :: (condition) || !LOOKED_AT(property) \
  :: !(condition) && LOOKED_AT(property) -> printf("broken: %e\n", property); assert(false) \
  fi

/* ---- the file system ------------------------------------------------------------------------ */
mtype = { unclaimed, claim_launch, claim_stop }                  /* launch.claim: its target */
mtype = { no_receipt, confirmed, confirmed_error, unconfirmed }  /* cleanup.json */
mtype = { no_tree, born, running, gone }                         /* forked; past its exec; dead */

typedef Directory {
  mtype claim = unclaimed;
  mtype receipt = no_receipt;
  byte receipt_inode;  /* the launch whose supervisor wrote it; 0: somebody else */
  bool request;        /* stop.request or expire.request is there */
  byte pid_file;       /* supervisor.pid: the launch that it names */
  bool deleted;
  byte shared;         /* flock on the directory: how many processes hold it shared */
  bool exclusive;
  mtype tree = no_tree;  /* the worker and its descendants */
  bool tree_locks;     /* the child still has the descriptor of the lock */
  bool leaf;           /* the session's cgroup leaf is there */
  bool in_leaf;        /* and the tree is in it */
  /* Only the properties look at these. */
  byte winner;         /* the launch that made the claim */
  byte halves;         /* living guardians and supervisors of the session */
  byte runs;
  bool answered;       /* a receipt has been here */
  bool asked;          /* stop.request was there when launch claimed */
}
Directory dir[DIRECTORIES + 1];  /* by inode; 0 is nothing */
byte path = 1;                   /* the inode that DIR names */
byte closed = 0;                 /* the inode that DIR.closed names */

#define ALIVE(d) (dir[d].tree == born || dir[d].tree == running)
#define FREE(d) (dir[d].shared == 0 && !dir[d].exclusive)

/* ---- the two halves of each launch ---------------------------------------------------------- */
typedef Pair {
  bool guardian;    /* alive: the other half sees the end of it in its pipe */
  bool supervisor;
  bool term;        /* the guardian was sent a TERM, and relays it */
  bool announced;   /* the supervisor has told the inode of the coming receipt */
  bool done;        /* the supervisor has said so */
}
Pair pair[LAUNCHES + 1];

/* Deliveries of the same command differ in nothing but their numbers, so they may as well begin in
 * the order of these. That halves the search. */
byte launches_begun;
byte stops_begun;

byte kills;         /* how many halves may yet die by SIGKILL */
#define OR_KILLED :: kills > 0 -> kills--; goto killed

inline write_receipt(d, kind, inode) {
  MUST(true_receipt, kind == unconfirmed || !ALIVE(d));
  MUST(final_receipt, dir[d].receipt == no_receipt || dir[d].receipt == kind);
  dir[d].receipt = kind;
  dir[d].receipt_inode = inode;
  dir[d].answered = true
}

inline tree_dies(d) {
  dir[d].tree = (ALIVE(d) -> gone : dir[d].tree);
  dir[d].shared = dir[d].shared - dir[d].tree_locks;
  dir[d].tree_locks = false
}

/* A half is the parent or the subreaper of the whole tree: no child left is the proof. Or its
 * patience ends before the tree does; but a child that was killed never comes to its exec. */
inline end_tree() {
  if
  :: tree_dies(d); proven = true
  :: dir[d].tree == running -> proven = false
  fi
}

/* rmdir of the leaf, which is refused while somebody is in it. */
inline remove_leaf(d) {
  if
  :: dir[d].leaf && !(dir[d].in_leaf && ALIVE(d)) ->
     dir[d].leaf = false;
     dir[d].in_leaf = false
  :: !dir[d].leaf || (dir[d].in_leaf && ALIVE(d))
  fi
}

/* What LEAF_INHERITED makes possible: an earlier session's leaf stands under the name of ours. */
#if CREATES
#define STALE_LEAF (HAS(LEAF_INHERITED) && d == 2 && dir[1].leaf)
#else
#define STALE_LEAF false
#endif

/* ==== launch, first half: the guardian ======================================================= */
proctype Launch(byte me) {
  byte d;
  bool proven;

  /* 1. Open the directory. Gone: 121. */
  atomic {
    launches_begun == me - 1 -> launches_begun++;
    if
    :: path != 0 -> d = path
    :: path == 0 -> goto ended
    fi
  }
  /* 2. Take the shared lock. A wait that lasts too long: 125. */
  atomic {
    if
    :: !dir[d].exclusive -> dir[d].shared++
    :: dir[d].exclusive -> goto ended
    fi
  }
  /* 3. See that DIR still names this inode: 121 if not. 4. Reserve the receipt's file: 125 if there
        is no space. Whoever is killed up to here looks the same to everybody else: the lock is free
        again and nothing was claimed. */
  atomic {
    if
    :: path == d || HAS(LAUNCH_FOLLOWS_INODE) && !dir[d].deleted
    :: goto let_go
    fi
  }
#if MUTATION == CLAIM_AFTER_PID
  dir[d].pid_file = me;
#endif
  /* 5. Claim, by symlink. It exists: 121. After this every failure ends in a receipt. */
  atomic {
    if
    :: dir[d].claim == unclaimed || HAS(CLAIM_NOT_CHECKED)
    :: dir[d].claim != unclaimed && !HAS(CLAIM_NOT_CHECKED) -> goto let_go
    fi;
    dir[d].claim = claim_launch;
    dir[d].winner = me;
    dir[d].asked = dir[d].request;
    pair[me].guardian = true;
    dir[d].halves++;
    if
    :: HAS(GUARDIAN_UNLOCKED) -> dir[d].shared--
    :: else
    fi
  }
  /* 6. Make the cgroup leaf, under a name that no other claim ever has. There may be none. */
  atomic {
    if
    :: CGROUPS && !STALE_LEAF -> dir[d].leaf = true; dir[d].in_leaf = true
    :: true
    OR_KILLED
    fi
  }
  /* 7. Write supervisor.pid. */
#if MUTATION != CLAIM_AFTER_PID
  atomic {
    if
    :: dir[d].pid_file = me
    :: goto not_started
    OR_KILLED
    fi
  }
#endif
  /* 8. Fork the supervisor, which has the same lock. */
  atomic {
    if
    :: pair[me].supervisor = true;
       dir[d].halves++;
       if
       :: HAS(SUPERVISOR_UNLOCKED)
       :: else -> dir[d].shared++
       fi;
       run Supervisor(me, d)
    :: goto not_started
    OR_KILLED
    fi
  }
  /* 9. Wait for its "done", or for its death without it. Then the receipt that it announced may be
        there already. */
  atomic {
    if
    :: pair[me].done -> goto leave
    :: !pair[me].supervisor && !pair[me].done ->
       if
       :: pair[me].announced && dir[d].receipt_inode == me && !HAS(GUARDIAN_FORGETS) -> goto leave
       :: else
       fi
    OR_KILLED
    fi
  }
  /* 10. If not, end the tree, which is ours now, ... */
  atomic {
    if
    :: end_tree()
    OR_KILLED
    fi
  }
  /* 11. ... and write a receipt with an error. Tidy up. */
  atomic {
    if
    :: proven -> write_receipt(d, confirmed_error, 0); remove_leaf(d); goto leave
    :: !proven -> write_receipt(d, unconfirmed, 0); goto leave
    OR_KILLED
    fi
  }

not_started: /* A step between the claim and the fork failed. */
  atomic {
    if
    :: write_receipt(d, confirmed_error, 0)
    OR_KILLED
    fi
  }

leave: /* 12. The lock is free when both have gone. */
killed:
  atomic {
    pair[me].guardian = false;
    dir[d].halves--;
    if
    :: HAS(GUARDIAN_UNLOCKED) -> goto ended
    :: else
    fi
  }
let_go:
  atomic { dir[d].shared--; d = 0; proven = false }
ended:
}

/* ==== launch, second half: the supervisor ==================================================== */
proctype Supervisor(byte me; byte d) {
  bool proven;
  bool endless;  /* this worker ends only when it is told to */
  bool lonely;   /* the guardian was lost: the receipt gets an error */

  /* 1. Write supervisor.id, which can fail. 2. The last look: was a stop asked for already, or was
        the guardian lost? Then nothing starts. */
  atomic {
    if
    :: (dir[d].request || pair[me].term) && !HAS(NO_LAST_LOOK) -> proven = true; goto announce
    :: !pair[me].guardian -> goto not_started
    :: pair[me].guardian && (!dir[d].request && !pair[me].term || HAS(NO_LAST_LOOK))
    :: goto not_started
    OR_KILLED
    fi
  }
  /* 3. Fork the worker, into the leaf. The child has our lock until its exec closes it. */
  atomic {
    if
    :: MUST(named, path == d);
       dir[d].tree = born;
       dir[d].tree_locks = true;
       dir[d].shared++;
       if
       :: HAS(LEAF_OUTLIVED) -> dir[d].in_leaf = false
       :: else
       fi;
       if
       :: endless = true
       :: endless = false
       fi;
       run Worker(d)
    :: goto not_started
    OR_KILLED
    fi
  }
  /* 4. Wait for its end, the deadline, stop.request, a TERM, or the death of the guardian. */
  atomic {
    if
    :: !endless
    :: dir[d].request && !HAS(STOP_UNWATCHED)
    :: pair[me].term
    :: !pair[me].guardian -> lonely = true
    OR_KILLED
    fi
  }
  /* 5. End the tree. */
  atomic {
    if
    :: HAS(RECEIPT_BEFORE_END) -> proven = true
    :: !HAS(RECEIPT_BEFORE_END) -> end_tree()
    OR_KILLED
    fi
  }

announce: /* 6. Write the report and the receipt's bytes; tell the guardian the inode. */
  atomic {
    if
    :: pair[me].announced = true
    OR_KILLED
    fi
  }
  /* 7. Rename it into its place. */
  atomic {
    if
    :: proven && !lonely -> write_receipt(d, confirmed, me)
    :: proven && lonely -> write_receipt(d, confirmed_error, me)
    :: !proven -> write_receipt(d, unconfirmed, me)
    OR_KILLED
    fi
  }
  /* 8. Tidy up, say "done", and leave. */
  atomic {
    if
    :: remove_leaf(d); pair[me].done = true; goto leave
    OR_KILLED
    fi
  }

not_started: /* Nothing runs, and that is known; the receipt gets an error. */
  atomic { proven = true; lonely = true; goto announce }

leave:
killed:
  atomic {
    pair[me].supervisor = false;
    dir[d].halves--;
    if
    :: HAS(SUPERVISOR_UNLOCKED)
    :: else -> dir[d].shared--
    fi;
    d = 0; proven = false; endless = false; lonely = false
  }
}

/* ==== launch: the worker ===================================================================== */
proctype Worker(byte d) {
  atomic {
    if
    :: HAS(CHILD_UNLOCKED_EARLY) && dir[d].tree_locks -> dir[d].tree_locks = false; dir[d].shared--
    :: else
    fi
  }
  /* Its exec, unless it was killed before that. What it does later is to live until it is ended. */
  atomic {
    if
    :: dir[d].tree == born ->
       dir[d].tree = running;
       dir[d].runs++;
       MUST(runs_once, dir[d].runs <= 1);
       MUST(fenced, !dir[d].answered);
       MUST(heeded, !dir[d].asked);
       MUST(named, path == d);
       MUST(pid_of_winner, dir[d].pid_file == dir[d].winner);
       if
       :: dir[d].tree_locks && !HAS(WORKER_LOCKED) -> dir[d].tree_locks = false; dir[d].shared--
       :: else
       fi
    :: dir[d].tree != born
    fi;
    d = 0
  }
}

/* ==== stop =================================================================================== */
/* It may be killed at every step, or fail there, which is the same: its lock is free and it has
 * said nothing, or "unknown". Only the last one is spared, and is patient. */
#define OR_FAILS :: !last -> goto let_go

proctype Stop(byte me; bool last) {
  byte d;
  bool proven;

  /* 1. Open the directory. Gone: unknown, 125. */
  atomic {
    stops_begun == me - 1 -> stops_begun++;
    if
    :: path != 0 -> d = path
    :: path == 0 -> goto ended
    fi
  }
  /* 2. Try the exclusive lock. */
  atomic {
    if
    :: FREE(d) && !HAS(STOP_UNLOCKED) -> dir[d].exclusive = true; goto settle
    :: HAS(STOP_UNLOCKED) -> goto settle
    :: !FREE(d) && !HAS(STOP_UNLOCKED)
    fi
  }
  /* 3. Held: somebody of ours lives. Create stop.request. (`expire` does no more than this.) */
  atomic {
    if
    :: !dir[d].deleted -> dir[d].request = true
    :: dir[d].deleted -> goto ended
    fi
  }
  /* 4. Wait for the lock. A wait that lasts too long: unknown, 125. */
  atomic {
    if
    :: FREE(d) -> dir[d].exclusive = true
    :: !last && !FREE(d) -> goto ended
    fi
  }
settle: /* 5. See that DIR still names this inode: unknown if not. Nobody of ours lives now, and
           nobody starts: a receipt is final. */
  atomic {
    if
    :: path == d || HAS(STOP_FOLLOWS_INODE) && !dir[d].deleted ->
       if
       :: dir[d].receipt != no_receipt -> goto report
       :: dir[d].receipt == no_receipt
       fi
    :: path != d && !HAS(STOP_FOLLOWS_INODE) || dir[d].deleted -> goto let_go
    OR_FAILS
    fi
  }
  /* 6. Create stop.request here too: it is there for a launch that comes if we die before ... */
  atomic {
    dir[d].request = true;
    if
    OR_FAILS
    /* 7. ... the claim, unless there is a claim. */
    :: dir[d].claim == unclaimed -> dir[d].claim = claim_stop; goto fence
    :: dir[d].claim == claim_stop -> goto fence /* an earlier stop died */
    :: dir[d].claim == claim_launch             /* both halves were lost */
    fi
  }
  /* 8. Recover: end who is in the leaf, and who carries the session's marker. The proof is a leaf
        with nobody left in it: whoever has shed the marker is not found. */
  atomic {
    if
    :: dir[d].leaf ->
       proven = true;
       if
       :: dir[d].in_leaf -> tree_dies(d)
       :: else
       fi
    :: STALE_LEAF -> proven = true
    :: !dir[d].leaf && dir[d].tree == running -> tree_dies(d)
    :: proven = HAS(RECOVERY_WITHOUT_PROOF)
    OR_FAILS
    fi
  }
  /* 9. Write what was found out. */
  atomic {
    if
    :: proven -> write_receipt(d, confirmed_error, 0); goto report
    :: !proven -> write_receipt(d, unconfirmed, 0); goto report
    OR_FAILS
    fi
  }

fence: /* 10. The claim is ours: nothing runs, and nothing will. */
  atomic {
    if
    :: write_receipt(d, confirmed, 0)
    OR_FAILS
    fi
  }
report: /* 11. Say what the receipt says. */
  MUST(true_receipt, dir[d].receipt == unconfirmed || !ALIVE(d));
let_go:
  atomic {
    if
    :: HAS(STOP_UNLOCKED)
    :: else -> dir[d].exclusive = false
    fi;
    MUST(reaches_end, !last || dir[d].receipt != no_receipt || path != d);
    d = 0; proven = false
  }
ended:
}

/* ==== stop, as upstream's shell text does it: by name, and without the lock ================== */
proctype UpstreamStop() {
  byte number;

  /* 1. A receipt is there: done. 2. Create stop.request. */
  atomic {
    if
    :: path == 0 || dir[path].receipt != no_receipt -> goto ended
    :: path != 0 && dir[path].receipt == no_receipt
    fi
  }
  atomic {
    if
    :: path == 0 -> goto ended
    :: path != 0 -> dir[path].request = true
    fi
  }
  /* 3. Claim; it may exist. */
  atomic {
    if
    :: path != 0 && dir[path].claim == unclaimed -> dir[path].claim = claim_stop
    :: else
    fi
  }
  /* 4. It reads `stop`: write the receipt. */
  atomic {
    if
    :: path == 0 -> goto ended
    :: path != 0 && dir[path].claim == claim_stop
    :: path != 0 && dir[path].claim != claim_stop -> goto signal
    fi
  }
  atomic {
    if
    :: path != 0 -> write_receipt(path, confirmed, 0)
    :: path == 0
    fi;
    goto ended
  }
signal: /* 5. Else send TERM to the number in supervisor.pid; then poll for the receipt. */
  atomic {
    if
    :: path != 0 -> number = dir[path].pid_file
    :: path == 0
    fi
  }
  atomic {
    if
    :: number != 0 ->
       MUST(pid_of_winner, path == 0 || number == dir[path].winner);
       if
       :: pair[number].guardian -> pair[number].term = true
       :: else /* dead: nobody, or a stranger with that number; upstream cannot tell */
       fi
    :: number == 0
    fi
  }
ended:
  number = 0
}

/* ==== remove ================================================================================= */
/* It may be killed at every step, which looks the same as a step that fails. */
#define OR_DIES :: goto let_go

/* Delete DIR.closed, if it is there: open it, delete what is in it, in no order, then itself. One
 * that we did not make is locked first, without waiting; held, it is refused. */
inline delete_retired(ours) {
  atomic {
    if
    :: closed != 0 && (ours || FREE(closed) || HAS(REMOVE_UNLOCKED)) ->
       victim = closed;
       dir[victim].exclusive = !HAS(REMOVE_UNLOCKED);
       MUST(undeleted, dir[victim].halves == 0);
       if
       :: dir[victim].claim = unclaimed
       :: dir[victim].receipt = no_receipt
       :: dir[victim].claim = unclaimed; dir[victim].receipt = no_receipt
       fi
    :: closed != 0 && !(ours || FREE(closed) || HAS(REMOVE_UNLOCKED)) -> goto ended
    :: closed == 0
    OR_DIES
    fi
  }
  if
  :: victim == 0
  :: victim != 0 ->
     atomic {
       if
       :: MUST(undeleted, dir[victim].halves == 0);
          dir[victim].claim = unclaimed;
          dir[victim].receipt = no_receipt;
          dir[victim].receipt_inode = 0;
          dir[victim].request = false;
          dir[victim].pid_file = 0;
          if
          :: closed == victim -> closed = 0; dir[victim].deleted = true
          :: closed != victim
          fi;
          dir[victim].exclusive = false;
          victim = 0
       OR_DIES
       fi
     }
  fi
}

proctype Remove() {
  byte d;
  byte victim;

  /* 1. What an earlier remove has left goes first. */
  delete_retired(false);
  /* 2. Open the directory. Gone: done. */
  atomic {
    if
    :: path != 0 -> d = path
    :: path == 0 -> goto ended
    fi
  }
  /* 3. Take the exclusive lock, without waiting. Held: refused. */
  atomic {
    if
    :: FREE(d) && !HAS(REMOVE_UNLOCKED) -> dir[d].exclusive = true
    :: HAS(REMOVE_UNLOCKED)
    :: !FREE(d) && !HAS(REMOVE_UNLOCKED) -> goto ended
    fi
  }
  /* 4. See that DIR still names this inode, and that a session that was launched has a receipt:
        refused if not. (Without one it was lost, and has to be stopped first.) */
  atomic {
    if
    :: (path == d || HAS(REMOVE_FOLLOWS_INODE) || HAS(REMOVE_PUTS_BACK)) &&
       (dir[d].claim != claim_launch || dir[d].receipt != no_receipt || HAS(REMOVE_LOST))
    :: goto let_go
    fi
  }
  /* 5. Rename DIR, whatever that names, to DIR.closed; that fails onto another retired one. */
  atomic {
    if
    :: path != 0 && closed == 0 ->
       MUST(undeleted, dir[path].halves == 0);
       MUST(unforgotten, dir[path].answered || !ALIVE(path));
       closed = path;
       path = 0
    :: path == 0 || closed != 0 -> goto let_go
    OR_DIES
    fi
  }
#if MUTATION == REMOVE_PUTS_BACK
  atomic {
    if
    :: closed == d
    :: closed != d ->
       if
       :: path == 0 -> path = closed; closed = 0
       :: path != 0
       fi;
       goto let_go
    OR_DIES
    fi
  }
#endif
  /* 6. Delete it. */
  delete_retired(true);
let_go: /* Also when it died: its locks are free. */
  atomic {
    if
    :: !HAS(REMOVE_UNLOCKED) && d != 0 -> dir[d].exclusive = false
    :: !HAS(REMOVE_UNLOCKED) && d == 0 && victim != 0 -> dir[victim].exclusive = false
    :: else
    fi
  }
ended:
  atomic { d = 0; victim = 0 }
}

/* ==== create ================================================================================= */
proctype Create() {
  atomic {
    if
    :: path == 0 -> path = 2
    :: path != 0 /* EEXIST */
    fi
  }
}

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

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

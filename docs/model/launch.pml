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

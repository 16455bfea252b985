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

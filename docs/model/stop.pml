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

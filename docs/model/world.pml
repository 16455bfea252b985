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

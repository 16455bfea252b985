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

/* Redlock: a lease on a quorum of three nodes, each with its own state. One node may lose its
 * data and come back empty. Two processes; time in steps; requests and answers may be lost. */

#ifndef OFF
#define OFF 0            /* the number of a guard that is left out */
#endif
#ifndef DRIFT
#define DRIFT 1          /* steps that the clock of a process may lose within a lease */
#endif

#define Quorum          (OFF != 1) /* P1: a lease needs most of the nodes */
#define EmptyIsOld      (OFF != 2) /* P1: a node that lost its data does not vote for the time of a lease */
#define NodeOnlyIfFree  (OFF != 3) /* P1: a node does not overwrite a lease */
#define QuorumInTime    (OFF != 4) /* P1: the deadline counts from before the first node was asked */
#define QuorumMargin    (OFF != 5) /* P1: the process gives up the margin of a lease */
#define NodeCompares    (OFF != 6) /* P6: a release deletes only the lease of its owner */
#define RenewalQuorum   (OFF != 7) /* P1: a renewal needs most of the nodes, too */
#define RenewalInTime   (OFF != 8) /* P1: and counts from before the first of them was asked */
#define RenewalCompares (OFF != 9) /* P1: a node extends only the lease of its owner */

#define N 2
#define M 3
#define NONE 0
#define LEASE 3
#define SAFE (QuorumMargin -> LEASE - 1 : LEASE)
#define owner(c) ((c) + 1)
#define need (Quorum -> 2 : 1)

byte holder[M], ttl[M], young[M]; /* young: steps until the node votes again */
#define Idle 0
#define Asking 1
#define Holding 2
#define Leaving 3
byte renewing[N], rlost[N], ph[N], left[N], lost[N], votes[N], asked[N], gave[N]; /* asked: bits of nodes; gave: the nodes that a release has reached */
bit is_P1, is_P6; /* always 0; SPIN prints them */

#define other(c) (1 - (c))
#define bit_of(n) (1 << (n))

inline try(c, n, heard) {
	if
	:: (holder[n] == NONE || holder[n] == owner(c) || !NodeOnlyIfFree) && (young[n] == 0 || !EmptyIsOld) ->
		holder[n] = owner(c); ttl[n] = LEASE; votes[c] = votes[c] + heard; printf("node %d: grants to %d\n", n, c)
	:: else -> printf("node %d: refuses %d\n", n, c)
	fi
}
inline stop(c) { ph[c] = Leaving; left[c] = 0; lost[c] = 0; renewing[c] = 0; rlost[c] = 0; votes[c] = 0; asked[c] = 0; gave[c] = 0; printf("%d: leaves\n", c) }

inline give_back(c, n) {
	if
	:: holder[n] != NONE && (holder[n] == owner(c) || !NodeCompares) -> assert(is_P6 || holder[n] == owner(c)); holder[n] = NONE; ttl[n] = 0
	:: else
	fi;
	gave[c] = gave[c] | bit_of(n)
}
#define may_ask(n) (ph[c] == Asking && !(asked[c] & bit_of(n)) && left[c] > 0)
#define may_renew(n) (ph[c] == Holding && renewing[c] > 0 && !(asked[c] & bit_of(n)))
inline extend(c, n) {
	if
	:: holder[n] == owner(c) || !RenewalCompares && holder[n] != NONE -> ttl[n] = LEASE; votes[c]++; printf("node %d: extends %d\n", n, c)
	:: else -> printf("node %d: does not extend %d\n", n, c)
	fi
}
#define renew(n) \
	:: d_step { may_renew(n) -> asked[c] = asked[c] | bit_of(n); extend(c, n) } \
	:: d_step { may_renew(n) -> asked[c] = asked[c] | bit_of(n); printf("%d: does not hear node %d\n", c, n); ttl[n] = (holder[n] == owner(c) -> LEASE : ttl[n]) }
#define ask(n) \
	:: d_step { may_ask(n) -> asked[c] = asked[c] | bit_of(n); try(c, n, 1) } \
	:: d_step { may_ask(n) -> asked[c] = asked[c] | bit_of(n); printf("%d: does not hear node %d\n", c, n); try(c, n, 0) } \
	:: d_step { may_ask(n) -> asked[c] = asked[c] | bit_of(n); printf("%d: does not reach node %d\n", c, n) }
#define leave(n) :: d_step { ph[c] == Leaving && !(gave[c] & bit_of(n)) -> give_back(c, n) }

proctype Process(byte c) {
end:	do
	:: d_step { ph[c] == Idle -> ph[c] = Asking; left[c] = SAFE; lost[c] = 0; printf("%d: asks\n", c) }
	ask(0)
	ask(1)
	ask(2)
	:: d_step { ph[c] == Asking && votes[c] >= need && left[c] > 0 ->
		assert(is_P1 || ph[other(c)] != Holding);
		left[c] = (QuorumInTime -> left[c] : SAFE); lost[c] = (QuorumInTime -> lost[c] : 0);
		ph[c] = Holding; votes[c] = 0; asked[c] = 0; printf("%d: holds\n", c) }
	:: d_step { ph[c] == Asking && asked[c] == 7 && votes[c] < need ->
		stop(c) }
	:: d_step { ph[c] == Holding -> stop(c) }
	:: d_step { ph[c] == Holding && renewing[c] == 0 -> renewing[c] = SAFE; rlost[c] = 0; printf("%d: renews\n", c) }
	renew(0)
	renew(1)
	renew(2)
	:: d_step { ph[c] == Holding && votes[c] >= (RenewalQuorum -> 2 : 1) ->
		left[c] = (RenewalInTime -> renewing[c] : SAFE); lost[c] = (RenewalInTime -> rlost[c] : 0); renewing[c] = 0; rlost[c] = 0; votes[c] = 0; asked[c] = 0; printf("%d: has renewed\n", c) }
	:: d_step { ph[c] == Holding && asked[c] == 7 && votes[c] < 2 -> renewing[c] = 0; rlost[c] = 0; votes[c] = 0; asked[c] = 0 }
	leave(0)
	leave(1)
	leave(2)
	:: d_step { ph[c] == Leaving && gave[c] == 7 -> ph[c] = Idle; gave[c] = 0 }
	od
}

inline node_step(n) {
	ttl[n] = (ttl[n] > 0 -> ttl[n] - 1 : 0); young[n] = (young[n] > 0 -> young[n] - 1 : 0);
	holder[n] = (ttl[n] == 0 -> NONE : holder[n])
}
inline clock_step(c, slow) {
	if
	:: slow -> lost[c]++; rlost[c] = (renewing[c] > 0 -> rlost[c] + 1 : 0); printf("%d: its clock is slow\n", c)
	:: else -> left[c] = (left[c] > 0 -> left[c] - 1 : 0); renewing[c] = (renewing[c] > 0 -> renewing[c] - 1 : 0)
	fi;
	if :: left[c] == 0 && (ph[c] == Holding || ph[c] == Asking) -> stop(c) :: else fi
}
#define may_be(c, slow) (!slow || left[c] > 0 && lost[c] < DRIFT)
#define tick(slow0, slow1) :: d_step { may_be(0, slow0) && may_be(1, slow1) -> printf("time\n"); \
	node_step(0); node_step(1); node_step(2); clock_step(0, slow0); clock_step(1, slow1) }
active proctype Clock() {
end:	do
	tick(0, 0)
	tick(0, 1)
	tick(1, 0)
	tick(1, 1)
	od
}

/* One node at a time loses its data. */
#define restart(n) :: d_step { young[0] + young[1] + young[2] == 0 -> \
	holder[n] = NONE; ttl[n] = 0; young[n] = LEASE; printf("node %d: restarts empty\n", n) }
active proctype Faults() {
end:	do
	restart(0)
	restart(1)
	restart(2)
	od
}
init { atomic { run Process(0); run Process(1) } }

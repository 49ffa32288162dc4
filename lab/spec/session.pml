/* The locks of zklock and etcdlock for one key: a queue of places, each of which ends with the session of its process.
 * The first place has the key. For SPIN, which visits every state. README.md says how to read this, and what it shows.
 *
 *              ZooKeeper                                  etcd
 * session      the same                                   a lease of etcd for the whole process
 * place        an ephemeral sequential node               a key with that lease
 * keep-alive   a ping, and each other request             a keep-alive
 * number       the ID of the transaction                  the revision
 * fence        a new connection: the session has moved    a key that each creation compares */

#ifndef OFF
#define OFF 0          /* the number of a guard that is left out */
#endif
#ifndef CLOCKS
#define CLOCKS 0       /* clocks are not exact */
#endif
#ifndef DRIFT
#define DRIFT (CLOCKS && !DEPOSED) /* steps that a clock may lose while the store counts a session's timeout */
#endif
#ifndef TOKENS
#define TOKENS 0       /* tokens, the resource and hand-overs. Then there are NUMBERS numbers */
#endif
#ifndef DEPOSED
#define DEPOSED 0      /* a server that leads no more may answer: it has not noticed */
#endif
#ifndef RESTORED
#define RESTORED 0     /* the store may be restored from an old backup */
#endif
#define NUMBERS 3
#define LATE (!CLOCKS && !TOKENS) /* requests may be late, and processes crash: too many states with clocks or tokens */

#define TokenChecked     (OFF != 1)  /* P4 TOKENS: the resource refuses a smaller token than it has seen */
#define TokenIsNumber    (OFF != 2)  /* P3 TOKENS: numbers rise for ever: not those of a queue, which begin again */
#define HandOverAlone    (OFF != 3)  /* P3 TOKENS: a hand-over numbers the place again only if no other place is there */
#define LeaseIsShort     (OFF != 4)  /* P2 CLOCKS: the lease of a lock is shorter than the session by AGE and the margin of clocks */
#define KeptAlive        (OFF != 5)  /* P2 CLOCKS: a lock is granted or renewed only if the session was kept alive not much earlier */
#define AliveFromSending (OFF != 6)  /* P2 CLOCKS: the age of a keep-alive counts from its sending */
#define LeaseFromSending (OFF != 7)  /* P2 CLOCKS: so does the lease of a lock */
#define LateIsReturned   (OFF != 8)  /* P2 CLOCKS: an answer that is heard after its deadline grants nothing */
#define TermCounts       (OFF != 9)  /* P2 CLOCKS DEPOSED: a keep-alive of an earlier leader does not count */
#define LeaderAnswers    (OFF != 10) /* P2 CLOCKS DEPOSED: the queue is read from the present leader */
#define OwnPlace         (OFF != 11) /* P1: an owner needs its own place, of its present session: not only nobody in front */
#define InOrder          (OFF != 12) /* P1: a new place is the last one */
#define OnePlace         (OFF != 13) /* P5: an owner that asks again has the place that it had */
#define Fence            (OFF != 14) /* P7: after the release of an owner in doubt its late creation is refused */
#define SessionCreates   (OFF != 15) /* P7: so is a creation whose session has ended */
#define Ephemeral        (OFF != 16) /* P7: a place ends with its session */
#define ReleaseRepeated  (OFF != 17) /* P7: a release is repeated until there is an answer: the session goes on */
#define ReleaseNames     (OFF != 18) /* P6: a release deletes the place of its owner, not the first */
#define FreshOwner       (OFF != 19) /* P6: the place of each acquisition has a new name */

#define N 2
#define TIMEOUT 3      /* of a session, in steps: AGE, a lease, and a margin of one step where clocks are not exact */
#define AGE 1          /* of the last keep-alive when a lock is granted or renewed */
#define LEASE ((LeaseIsShort -> 1 : 2) + DEPOSED) /* with DEPOSED clocks are exact, and a lease needs no margin */
#define K 3            /* places */
#define NONE 0
#define owner(c) ((c) + 1)
#define client(o) ((o) - 1)

/* The store. */
byte queue[K], num[K], places, number, ttl[N]; /* ttl: 0 is no session */
bit deposed, restored;
byte was_first;        /* for the server that leads no more */

/* The processes. */
#define Idle 0
#define Trying 1
#define Holding 2
#define Leaving 3      /* until a release is confirmed, or the session has ended */
#define Gone 4         /* it is, and something may still know the owner */
#define Dead 5
byte ph[N], left[N], age[N], lost[N], mytok[N]; /* left of the lease; age of the last keep-alive; lost by the clock since then */
bit joined[N], has[N], doubt[N], paused[N], older[N]; /* joined, has: as it knows; older: the keep-alive is of an earlier leader */

/* The network: a request, and then its answer. */
#define None 0
#define Keep 1         /* or begin a session */
#define Create 2
#define Look 3
#define HandOver 4
#define Delete 5
#define Kept 6
#define KeptByOld 7
#define First 8
#define FirstByOld 9
#define Behind 10
#define NotThere 11
#define Ended 12
#define Deleted 13
byte rpc[N], rage[N], rlost[N], rtok[N], late, lateOwner;
bit lateFenced, lateEnded, lateOld;

byte wrote, g_max, g_owner;
bit is_P1, is_P2, is_P3, is_P4, is_P5, is_P6, is_P7; /* always 0; SPIN prints them */
byte i, at, x;         /* for one step */

/* granted: the store says that the owner has the key. The last one that had it must have lost its place. */
inline granted(o) { assert(is_P1 || g_owner == NONE || g_owner == o); g_owner = o }
inline remove(n) {
	g_owner = (queue[n] == g_owner -> NONE : g_owner); places--;
	if :: n == 0 -> queue[0] = queue[1]; num[0] = num[1] :: else fi;
	if :: n <= 1 -> queue[1] = queue[2]; num[1] = num[2] :: else fi;
	queue[2] = NONE; num[2] = 0
}
inline remove_all(o) {
	if :: queue[2] == o -> remove(2) :: else fi;
	if :: queue[1] == o -> remove(1) :: else fi;
	if :: queue[0] == o -> remove(0) :: else fi
}
/* Where the owner's newest place is; K: nowhere. */
#define find(o) at = (queue[2] == o -> 2 : (queue[1] == o -> 1 : (queue[0] == o -> 0 : K)))
inline take_number(n) {
	number = (TOKENS -> number + 1 : 0);
	num[n] = (TOKENS -> (TokenIsNumber -> number : (n == 0 -> 1 : num[n - 1] + 1)) : 0)
}
inline store_create(o) {
	find(o);
	if
	:: (at == K || !OnePlace) && places < K ->
		if
		:: InOrder -> queue[places] = o; take_number(places)
		:: else -> queue[2] = queue[1]; queue[1] = queue[0]; queue[0] = o; take_number(0)
		fi;
		places++; printf("store: owner %d has place %d of %d, number %d\n", o, (InOrder -> places : 1), places, number)
	:: else
	fi
}
/* The answer to an owner that asks for its place. */
inline store_look(c) {
	find(owner(c));
	if
	:: at == K && (OwnPlace || !has[c]) -> rpc[c] = NotThere
	:: at == K && !OwnPlace && has[c] -> granted(owner(c)); rpc[c] = First
	:: at < K ->
		assert(is_P5 || at == 0 || queue[0] != owner(c) && (at == 1 || queue[1] != owner(c))); /* nobody waits for itself */
		if
		:: at == 0 ->
			if
			:: TOKENS ->
				assert(is_P3 || num[0] > g_max || num[0] == g_max && g_owner == owner(c));
				rtok[c] = num[0]; g_max = num[0]
			:: else
			fi;
			granted(owner(c)); rpc[c] = First
		:: else -> rpc[c] = Behind
		fi
	fi
}
inline store_delete(o, d, old) {
	x = (ReleaseNames || places == 0 -> o : queue[0]); find(x);
	assert(is_P6 || at == K || x == o && !old);
	if :: ReleaseNames -> remove_all(o) :: !ReleaseNames && places > 0 -> remove(0) :: else fi;
	lateFenced = lateFenced || (d && late == Create && lateOwner == o);
	printf("store: release by owner %d\n", o)
}
inline end_session(c) {
	ttl[c] = 0; lateEnded = lateEnded || (late == Create && lateOwner == owner(c));
	if :: Ephemeral -> remove_all(owner(c)) :: else fi;
	printf("store: the session of %d ends\n", c)
}

inline settle(c) { rpc[c] = None; rage[c] = 0; rlost[c] = 0; rtok[c] = 0 }
inline lose_late() { late = None; lateOwner = NONE; lateFenced = 0; lateEnded = 0; lateOld = 0 }
inline abandon(c) { /* the request is lost, or arrives late */
	if
	:: LATE && late == None && (rpc[c] == Create || rpc[c] == Delete) -> late = rpc[c]; lateOwner = owner(c); lateEnded = (ttl[c] == 0)
	:: else
	fi;
	doubt[c] = (doubt[c] || rpc[c] == Create && LATE); settle(c)
}
inline leave(c) { abandon(c); ph[c] = Leaving; left[c] = 0; mytok[c] = 0; printf("%d: leaves\n", c) }
inline hear(c) {
	x = (LeaseFromSending -> (rage[c] < LEASE -> LEASE - rage[c] : 0) : LEASE);
	if
	:: rpc[c] == Kept || rpc[c] == KeptByOld ->
		age[c] = (AliveFromSending -> rage[c] : 0); lost[c] = (rpc[c] == KeptByOld -> lost[c] : (AliveFromSending -> rlost[c] : 0));
		older[c] = (rpc[c] == KeptByOld); joined[c] = 1; settle(c)
	:: (rpc[c] == First && !(older[c] && TermCounts) || rpc[c] == FirstByOld) && (x > 0 || !LateIsReturned) ->
		printf("%d: holds, token %d\n", c, rtok[c]);
		left[c] = (x > left[c] -> x : (left[c] > 0 -> left[c] : 1)); mytok[c] = rtok[c]; ph[c] = Holding; has[c] = 1; settle(c)
	:: (rpc[c] == First && !(older[c] && TermCounts) || rpc[c] == FirstByOld) && x == 0 && LateIsReturned ->
		has[c] = 1; settle(c); if :: ph[c] == Trying -> leave(c) :: else fi
	:: rpc[c] == First && older[c] && TermCounts -> has[c] = 1; age[c] = AGE + 1; settle(c)
	:: rpc[c] == Behind -> has[c] = 1; settle(c)
	:: rpc[c] == NotThere -> has[c] = 0; settle(c); if :: ph[c] == Holding -> leave(c) :: else fi
	:: rpc[c] == Ended -> joined[c] = 0; has[c] = (OwnPlace -> 0 : has[c]); age[c] = 0; lost[c] = 0; older[c] = 0;
		settle(c); if :: ph[c] == Holding -> leave(c) :: else fi
	:: rpc[c] == Deleted -> ph[c] = Gone; doubt[c] = 0; has[c] = 0; settle(c); printf("%d: has released\n", c)
	fi
}

/* check is what must be true between two steps. */
#define trusts_wrongly(c) (ph[c] == Holding && !paused[c] && queue[0] != NONE && queue[0] != owner(c))
#define lives(o) (ttl[client(o)] > 0 && ph[client(o)] != Gone && ph[client(o)] != Idle)
#define known(c) (late != None && lateOwner == owner(c) || was_first == owner(c))
#define tidy(c) ph[c] = (!known(c) && (ph[c] == Gone || ph[c] == Dead && ttl[c] == 0) -> Idle : ph[c]);
inline check() {
	assert(is_P2 || !trusts_wrongly(0) && !trusts_wrongly(1));
	assert(is_P7 || (places < 1 || lives(queue[0])) && (places < 2 || lives(queue[1])) && (places < 3 || lives(queue[2])));
	i = 0; at = 0; x = 0; tidy(0); tidy(1)
}
#define free(c) (!paused[c] && rpc[c] == None)
#define fresh(c) (joined[c] && (age[c] <= AGE || !KeptAlive))

proctype Process(byte c) {
end:	do
	:: d_step { ph[c] == Idle || ph[c] == Gone && !FreshOwner ->
		ph[c] = Trying; lateOld = (late == Delete && lateOwner == owner(c)); printf("%d: begins\n", c) }
	:: d_step { free(c) && Trying <= ph[c] && ph[c] <= Leaving && (age[c] > 0 || !joined[c]) -> rpc[c] = Keep }
	:: d_step { free(c) && fresh(c) && ph[c] == Trying && !has[c] && (!TOKENS || number < NUMBERS) -> rpc[c] = Create; printf("%d: asks\n", c) }
	:: d_step { free(c) && fresh(c) && (ph[c] == Trying && has[c] || ph[c] == Holding) -> rpc[c] = Look; printf("%d: looks\n", c) }
	:: d_step { free(c) && ph[c] == Leaving -> rpc[c] = Delete; printf("%d: releases\n", c) }
	:: d_step { ph[c] == Holding && !paused[c] -> leave(c); check() }
	:: d_step { rpc[c] >= Kept && !paused[c] -> hear(c); check() }
#if TOKENS
	:: d_step { free(c) && fresh(c) && ph[c] == Holding && number < NUMBERS -> rpc[c] = HandOver; printf("%d: hands over\n", c) }
	:: d_step { ph[c] == Holding && (mytok[c] >= wrote || !TokenChecked) -> /* also when it wakes up, before anything else */
		assert(is_P4 || mytok[c] >= wrote); wrote = mytok[c]; printf("%d: writes with token %d\n", c, mytok[c]) }
#endif
	/* The store answers. */
	:: d_step { rpc[c] == Keep && (ttl[c] > 0 || !joined[c]) -> ttl[c] = TIMEOUT; rpc[c] = Kept; check() }
	:: d_step { (rpc[c] == Keep && joined[c] || rpc[c] == Create || rpc[c] == Look || rpc[c] == HandOver) && ttl[c] == 0 -> rpc[c] = Ended }
	:: d_step { rpc[c] == Create && ttl[c] > 0 -> store_create(owner(c)); has[c] = 1; store_look(c); has[c] = 0; check() }
	:: d_step { rpc[c] == Look && ttl[c] > 0 -> store_look(c); check() }
	:: d_step { rpc[c] == HandOver && ttl[c] > 0 ->
		if :: queue[0] == owner(c) && (places == 1 || !HandOverAlone) -> take_number(0) :: else fi;
		store_look(c); check() }
	:: d_step { rpc[c] == Delete -> store_delete(owner(c), doubt[c], 0); rpc[c] = Deleted; check() }
#if DEPOSED
	:: d_step { rpc[c] == Keep && joined[c] && deposed -> rpc[c] = KeptByOld; printf("%d: is kept alive by a server that leads no more\n", c) }
	:: d_step { rpc[c] == Look && deposed && !LeaderAnswers && was_first == owner(c) ->
		granted(owner(c)); rpc[c] = FirstByOld }
#endif
	/* Faults. */
	:: d_step { rpc[c] != None ->
		ph[c] = (rpc[c] == Delete && !ReleaseRepeated -> Gone : ph[c]); abandon(c); printf("%d: hears nothing\n", c); check() }
	:: d_step { ph[c] == Trying && !paused[c] -> leave(c); check() }
	:: d_step { ph[c] == Holding && !paused[c] -> abandon(c); paused[c] = 1; printf("%d: pauses\n", c) }
	:: d_step { paused[c] -> paused[c] = 0; printf("%d: wakes up\n", c); if :: left[c] == 0 -> leave(c) :: else fi; check() }
	:: d_step { LATE && Trying <= ph[c] && ph[c] <= Leaving ->
		leave(c); ph[c] = Dead; joined[c] = 0; has[c] = 0; doubt[c] = 0; age[c] = 0; lost[c] = 0; older[c] = 0; paused[c] = 0; printf("%d: crashes\n", c); check() }
	od
}

inline clock_step(c, slow) {
	if
	:: slow -> lost[c] = (joined[c] -> lost[c] + 1 : 0); rlost[c] = (rpc[c] != None -> rlost[c] + 1 : 0); printf("%d: its clock is slow\n", c)
	:: else ->
		left[c] = (left[c] > 0 -> left[c] - 1 : 0); age[c] = (joined[c] && age[c] <= AGE -> age[c] + 1 : age[c]);
		if :: rage[c] > 0 -> abandon(c) :: rpc[c] != None && rage[c] == 0 -> rage[c] = 1 :: else fi /* a request has a deadline of its own */
	fi;
	if :: ph[c] == Holding && !paused[c] && left[c] == 0 -> leave(c) :: else fi
}
#define may_be(c, slow) (!slow || (joined[c] || rpc[c] != None) && lost[c] < DRIFT && rlost[c] < DRIFT)
#define store_step(c) if :: ttl[c] == 1 -> end_session(c) :: ttl[c] > 1 -> ttl[c]-- :: else fi
#define tick(slow0, slow1) :: d_step { may_be(0, slow0) && may_be(1, slow1) -> printf("time\n"); \
	store_step(0); store_step(1); clock_step(0, slow0); clock_step(1, slow1); check() }
active proctype Clock() {
end:	do
	tick(0, 0)
	tick(1, 0) /* one process with a slow clock is enough: each compares its own with the store's */
	od
}
active proctype Late() {
end:	do
	:: d_step { late != None ->
		printf("late:\n");
		if
		:: late == Create && !(lateFenced && Fence) && !(lateEnded && SessionCreates) -> store_create(lateOwner)
		:: late == Delete -> store_delete(lateOwner, 0, lateOld)
		:: else
		fi;
		lose_late(); check() }
	:: d_step { late != None -> lose_late(); check() }
#if DEPOSED
	:: d_step { !deposed -> deposed = 1; was_first = (LeaderAnswers -> NONE : queue[0]); printf("another server leads\n") }
#endif
#if RESTORED
	:: d_step { !restored -> restored = 1; number = 0; lose_late(); end_session(0); end_session(1); printf("store: is restored from a backup\n"); check() }
#endif
	od
}
init { atomic { run Process(0); run Process(1) } }

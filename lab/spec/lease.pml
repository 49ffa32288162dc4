/* The lease protocol of distlock for one key: the rules of lease.qnt, with time in steps, for
 * SPIN, which visits every state. README.md says how to read this, and what it shows. */

/* Conditions of the promises. The defaults are those under which all of them hold. */
#ifndef OFF
#define OFF 0          /* the number of a guard that is left out */
#endif
#ifndef DRIFT
#define DRIFT (1 - TOKENS) /* steps that a clock may lose within a lease: 1 %, which is what the margin covers */
#endif
#ifndef TOKENS
#define TOKENS 0       /* tokens, the resource and hand-overs. Then time ends after HORIZON steps */
#endif
#ifndef HORIZON
#define HORIZON 4
#endif
#ifndef FAILOVERS
#define FAILOVERS 0    /* how often the store loses its last writes */
#endif
#ifndef STRICT
#define STRICT 0       /* P1, P2 and P7 must hold although it does */
#endif
#ifndef LIVE
#define LIVE 0         /* faults end: for P5 */
#endif

/* The guards, each with the promise that breaks without it. */
#define TokenChecked     (OFF != 1)  /* P4 TOKENS: the resource refuses a smaller token than it has seen */
#define TokenHasTime     (OFF != 2)  /* P3 TOKENS FAILOVERS: a token is at least the server's time: no plain counter */
#define TokenHasLast     (OFF != 3)  /* P3 TOKENS: a token is larger than the last: not the time alone */
#define FailoverTakesTime (OFF != 4) /* P3 TOKENS FAILOVERS: a replica takes over when its clock has passed the tokens that it lacks */
#define HandOverOwnToken (OFF != 5)  /* P3 TOKENS: the next holder in the process gets the next token */
#define HandOverInTime   (OFF != 6)  /* P3 TOKENS: no hand-over after the deadline */
#define Margin           (OFF != 7)  /* P2: the process gives up the margin of a lease */
#define FromSending      (OFF != 8)  /* P2: the deadline counts from the sending of the request, not from the answer */
#define LateIsReturned   (OFF != 9)  /* P2: a grant that is heard after its deadline is not used */
#define LossIsBelieved   (OFF != 10) /* P2 FAILOVERS: if the store says "not yours", the lease is over */
#define SilenceIsNothing (OFF != 11) /* P2: a renewal without an answer extends nothing */
#define MessageFromAsking (OFF != 12) /* P2: a granted claim window counts from the last refused attempt, not from the message */
#define MessageIsNew     (OFF != 13) /* P2: a message older than the last refusal grants nothing */
#define RenewCompares    (OFF != 14) /* P7: a renewal extends only the lease of its owner */
#define OnlyIfFree       (OFF != 15) /* P1: an attempt does not overwrite a lease */
#define ReleaseCompares  (OFF != 16) /* P6: a release deletes only the lease of its owner */
#define FreshOwner       (OFF != 17) /* P6: each acquisition has a new owner */
#define RenewCreatesNot  (OFF != 18) /* P7: a renewal does not create a lease */
#define Tombstones       (OFF != 19) /* P7: after the release of an owner in doubt its late attempt is refused */
#define ReleaseRepeated  (OFF != 20) /* P7: a release is repeated until there is an answer */
#define GrantExpires     (OFF != 21) /* P7: a lease is written together with its end */
#define ClaimExpires     (OFF != 22) /* P7: so is the claim window of a waiter */
#define Idempotent       (OFF != 23) /* P5: an owner that has the key gets it again: it does not wait for itself */
#define Polls            (OFF != 24) /* P5 LIVE: a waiter asks again: the message may be lost */
#define HandOverLimited  (OFF != 25) /* P5 LIVE: after some hand-overs the key goes back to the store */
#define InOrder          (OFF != 26) /* P5: a free key goes to the first waiter, not to whoever asks */

#define N 2
#if TOKENS
#define LEASE 2
#define CLAIM 1
#else
#define LEASE 3
#define CLAIM 2
#endif
#define SAFE (Margin -> LEASE - 1 : LEASE)
#define FOREVER 99
#define NONE 0         /* owners are 1 to N: a process begins again when nothing knows its last owner any more */

/* The store; gone has a bit for each owner with a tombstone. */
byte holder, ttl, queue[N], gone, tok, last, now = 2 * TOKENS;
/* What its replica has received. */
byte r_holder, r_ttl, r_queue[N], r_gone, r_tok, r_last, failed;

/* The processes. */
#define Idle 0
#define Trying 1       /* asks, or waits */
#define Holding 2      /* the function runs, and its context is not cancelled */
#define Leaving 3      /* until a release is confirmed */
#define Gone 4         /* it is, and something may still know the owner */
#define Dead 5         /* it has crashed, and the same */
byte ph[N], mytok[N], mylast[N];
byte left[N], lost[N]; /* until the deadline, by the clock of the process; what that clock has lost meanwhile */
bit paused[N], doubt[N], asked[N]; /* doubt: an attempt had no answer; asked: in this step of time */
bit spent[N], owed[N]; /* it was handed over; without Polls: a message */

/* The network. */
#define None 0
#define Try 1
#define Renew 2
#define Rel 3
#define Granted 4
#define Refused 5
#define Renewed 6
#define NotYours 7
#define Released 8
byte rpc[N], rleft[N], rlost[N], rtok[N], rlast[N];
byte late, lateOwner;           /* a request without anybody who waits for the answer */
bit lateDoubt, lateOld;         /* its owner was in doubt; it is of an earlier acquisition (seen by P6 only) */
byte msg[N], mtok[N], mlast[N]; /* the owner that was granted the key; its tokens */
bit old[N];                     /* the message is older than the last refusal */

/* The resource, and what only the promises look at. */
byte wrote;
byte g_owner, g_ttl, g_max;     /* the last grant, what is left of it, and its last token */
bit healed, told[N];            /* told: it has heard that its lease is lost */
bit is_P1, is_P2, is_P3, is_P4, is_P5, is_P6, is_P7; /* always 0; SPIN prints them */
byte h, first, x, res; /* for one step */

#define bit_of(o) (1 << (o))
#define owner(c) ((c) + 1)
#define client(o) ((o) - 1)
#define known(o) (holder == (o) || queue[0] == (o) || queue[1] == (o) || (gone & bit_of(o)) || late && lateOwner == (o) || r_knows(o))
#if FAILOVERS
#define r_knows(o) (r_holder == (o) || r_queue[0] == (o) || r_queue[1] == (o) || (r_gone & bit_of(o)))
#else
#define r_knows(o) false
#endif
#define excused (failed && !STRICT)    /* P1, is_P2 and P7 are for a store that loses nothing */

inline enqueue(o) {
	if
	:: queue[0] == o || queue[1] == o
	:: else -> queue[(queue[0] == NONE -> 0 : 1)] = o
	fi
}
inline dequeue(o) {
	if
	:: queue[0] == o -> queue[0] = queue[1]; queue[1] = NONE
	:: queue[1] == o -> queue[1] = NONE
	:: else
	fi
}
inline grant(o, t) {
	assert(is_P1 || excused || g_owner == NONE || g_owner == o || g_ttl == 0);
	holder = o; ttl = t; g_owner = o; g_ttl = t;
	if
	:: TOKENS ->  /* two tokens that end at the time, or as many as there are above the last */
		first = (TokenHasLast -> last + 1 : 0);
		first = (TokenHasTime && now > first + 1 -> now - 1 : first);
		tok = first; last = (TokenHasTime && now > first -> now : first);
		assert(is_P3 || tok > g_max);
		g_max = (last > g_max -> last : g_max)
	:: else
	fi;
	printf("store: key to owner %d, tokens %d to %d\n", o, tok, last)
}
inline grant_next() {
	if
	:: holder == NONE && queue[0] != NONE ->
		h = queue[0]; dequeue(h); grant(h, (ClaimExpires -> CLAIM : FOREVER));
		if
		:: ph[client(h)] == Trying ->
			msg[client(h)] = h; old[client(h)] = 0; mtok[client(h)] = tok; mlast[client(h)] = last
		:: else
		fi
	:: else
	fi
}
inline extend() { if :: ttl < LEASE -> ttl = LEASE; g_ttl = (g_owner == holder -> LEASE : g_ttl) :: else fi }

inline store_try(o) {
	if
	:: Tombstones && (gone & bit_of(o)) -> res = 0; printf("store: owner %d has a tombstone\n", o)
	:: else ->
		if
		:: Idempotent && holder == o -> dequeue(o); extend(); res = 1
		:: !(Idempotent && holder == o) && (!OnlyIfFree || holder == NONE) && (!InOrder || queue[0] == NONE || queue[0] == o) ->
			assert(is_P5 || queue[0] == NONE || queue[0] == o);
			dequeue(o); grant(o, (GrantExpires -> LEASE : FOREVER)); res = 1
		:: else ->
			assert(is_P5 || holder != o); /* nobody waits for itself */
			enqueue(o); grant_next(); res = 0;
			old[client(o)] = (msg[client(o)] == o);
			printf("store: owner %d waits\n", o)
		fi
	fi
}
inline store_renew(o) {
	res = 1;
	if
	:: holder == o || (!RenewCompares && holder != NONE) -> assert(is_P7 || holder == o); extend() /* only its owner extends a lease */
	:: !RenewCreatesNot && holder == NONE -> grant(o, LEASE)
	:: else -> res = 0
	fi
}
inline store_release(o, d, old_one) {
	if
	:: holder != NONE && (holder == o || !ReleaseCompares) ->
		assert(is_P6 || holder == o && !old_one);
		g_ttl = (g_owner == holder -> 0 : g_ttl); holder = NONE; ttl = 0; tok = 0
	:: else -> dequeue(o)
	fi;
	if :: d -> gone = gone | bit_of(o) :: else fi;
	printf("store: release by owner %d\n", o);
	grant_next()
}

inline send(c, what) { rpc[c] = what; rleft[c] = SAFE; asked[c] = 1 }
inline settle(c) { rpc[c] = None; rleft[c] = 0; rlost[c] = 0; rtok[c] = 0; rlast[c] = 0 }
inline forget_message(c) { msg[c] = NONE; old[c] = 0; mtok[c] = 0; mlast[c] = 0 }
inline abandon(c) { /* the request is lost, or arrives late */
	if
	:: late == None && Try <= rpc[c] && rpc[c] <= Rel -> late = rpc[c]; lateOwner = owner(c); lateDoubt = (rpc[c] == Rel && doubt[c])
	:: else
	fi;
	doubt[c] = (doubt[c] || rpc[c] == Try || rpc[c] == Granted || rpc[c] == Refused);
	settle(c)
}
inline lose_late() { late = None; lateOwner = NONE; lateDoubt = 0; lateOld = 0 }
inline leave(c) {
	abandon(c); forget_message(c);
	ph[c] = Leaving; left[c] = 0; lost[c] = 0; mytok[c] = 0; mylast[c] = 0; spent[c] = 0; owed[c] = 0; told[c] = 0;
	printf("%d: leaves\n", c)
}
inline hold(c, t, l) {
	ph[c] = Holding; mytok[c] = t; mylast[c] = l; forget_message(c);
	printf("%d: holds, token %d, until %d\n", c, t, left[c])
}
inline hear(c) {
	x = (FromSending -> rleft[c] : SAFE);
	if
	:: rpc[c] == Granted && (x > 0 || !LateIsReturned) -> left[c] = (x > 0 -> x : 1); lost[c] = (FromSending -> rlost[c] : 0); hold(c, rtok[c], rlast[c]); settle(c)
	:: rpc[c] == Granted && x == 0 && LateIsReturned -> settle(c); leave(c)
	:: rpc[c] == Refused -> /* a claim window that is granted from now on has begun after the attempt */
		left[c] = (rleft[c] > LEASE - CLAIM -> rleft[c] - (LEASE - CLAIM) : 0); lost[c] = (left[c] > 0 -> rlost[c] : 0); owed[c] = !Polls; settle(c)
	:: rpc[c] == Renewed -> if :: x > left[c] -> left[c] = x; lost[c] = (FromSending -> rlost[c] : 0) :: else fi; settle(c); printf("%d: renewed\n", c)
	:: rpc[c] == NotYours -> settle(c); if :: LossIsBelieved -> leave(c) :: else -> told[c] = 1 fi
	:: rpc[c] == Released -> settle(c); ph[c] = Gone; doubt[c] = 0; printf("%d: released\n", c)
	fi
}
inline write(c) {
	if
	:: !TokenChecked || mytok[c] >= wrote ->
		assert(is_P4 || mytok[c] >= wrote);
		wrote = mytok[c];
		printf("%d: writes with token %d\n", c, mytok[c])
	:: else
	fi
}
#define runs(c) (!paused[c])

/* check is what must be true between two steps. A tombstone stays for longer than a request
 * can be late: it goes when nothing is late. */
#define trusts_wrongly(c) (ph[c] == Holding && runs(c) && holder != NONE && holder != owner(c) && (!excused || told[c]))
#define check d_step { \
	assert(is_P2 || !trusts_wrongly(0) && !trusts_wrongly(1)); \
	assert(is_P7 || (ttl > 0 || holder == NONE) && ttl <= LEASE); \
	assert(is_P7 || excused || holder == NONE || ph[client(holder)] != Gone); \
	gone = (late == Try -> gone & bit_of(lateOwner) : 0); r_gone = (late == Try -> r_gone & bit_of(lateOwner) : 0); \
	h = 0; first = 0; res = 0; x = 0; tidy(0); tidy(1) }
#define tidy(c) ph[c] = (ph[c] >= Gone && !known(owner(c)) -> Idle : ph[c]);

/* Caller is the function of the user, and what it wants. */
proctype Caller(byte c) {
end:	do
	:: d_step { ph[c] == Idle || ph[c] == Gone && !FreshOwner ->
		ph[c] = Trying; lateOld = (late == Rel && lateOwner == owner(c)); printf("%d: begins\n", c) }
	:: d_step { ph[c] == Holding && runs(c) -> leave(c); check }
#if TOKENS
	:: atomic { ph[c] == Holding -> write(c) } /* also when it wakes up, before anything else */
	:: atomic { ph[c] == Holding && mytok[c] < mylast[c] && (left[c] > 0 || !HandOverInTime) ->
		assert(is_P3 || excused || g_owner == owner(c));
		x = mytok[c] + HandOverOwnToken;
		assert(is_P3 || x > mytok[c]);
		mytok[c] = x; printf("%d: hands over, token %d\n", c, mytok[c]) }
#elif LIVE
	:: atomic { ph[c] == Holding && runs(c) && !(spent[c] && HandOverLimited) -> spent[c] = 1 }
#endif
	od
}

/* Client speaks with the store. */
proctype Client(byte c) {
end:	do
	:: atomic { ph[c] == Trying && runs(c) && rpc[c] == None && !asked[c] && !owed[c] ->
		send(c, Try); printf("%d: asks\n", c) }
	:: atomic { ph[c] == Holding && runs(c) && rpc[c] == None && !asked[c] -> send(c, Renew); printf("%d: renews\n", c) }
	:: atomic { ph[c] == Leaving && runs(c) && rpc[c] == None && !asked[c] -> send(c, Rel); printf("%d: releases\n", c) }
	:: atomic { rpc[c] >= Granted && runs(c) -> hear(c); check }
	:: atomic { msg[c] != NONE && rpc[c] == None && runs(c) ->
		if
		:: ph[c] == Trying && msg[c] == owner(c) && (!old[c] || !MessageIsNew) && (left[c] > 0 || !MessageFromAsking) ->
			if :: !MessageFromAsking -> left[c] = CLAIM - 1; lost[c] = 0 :: else fi;
			hold(c, mtok[c], mlast[c])
		:: else -> forget_message(c); owed[c] = 0
		fi;
		check }
	od
}

/* Net takes the requests of a process to the store. */
proctype Net(byte c) {
end:	do
	:: atomic { rpc[c] == Try -> d_step { store_try(owner(c)); rpc[c] = (res -> Granted : Refused); rtok[c] = (res -> tok : 0); rlast[c] = (res -> last : 0) }; check }
	:: atomic { rpc[c] == Renew -> d_step { store_renew(owner(c)); rpc[c] = (res -> Renewed : NotYours) }; check }
	:: atomic { rpc[c] == Rel -> d_step { store_release(owner(c), doubt[c], 0); rpc[c] = Released }; check }
	od
}

/* Late has the late request arrive, once or more often. */
active proctype Late() {
end:	do
	:: atomic { late != None ->
		printf("late:\n");
		d_step {
			if
			:: late == Try -> store_try(lateOwner)
			:: late == Renew -> store_renew(lateOwner)
			:: late == Rel -> store_release(lateOwner, lateDoubt, lateOld)
			fi
		};
		if :: lose_late() :: !healed fi;
		check }
	:: atomic { late != None -> lose_late(); check }
	od
}

inline clock_step(c) {
	if
	:: (left[c] > 0 || rleft[c] > 0) && (left[c] == 0 || lost[c] < DRIFT) && (rleft[c] == 0 || rlost[c] < DRIFT) ->
		lost[c] = (left[c] > 0 -> lost[c] + 1 : 0); rlost[c] = (rleft[c] > 0 -> rlost[c] + 1 : 0); printf("%d: its clock is slow\n", c)
	:: left[c] = (left[c] > 0 -> left[c] - 1 : 0); rleft[c] = (rleft[c] > 0 -> rleft[c] - 1 : 0)
	fi;
	lost[c] = (left[c] > 0 -> lost[c] : 0); rlost[c] = (rleft[c] > 0 -> rlost[c] : 0); asked[c] = 0;
	if :: ph[c] == Holding && runs(c) && left[c] == 0 -> leave(c) :: else fi
}
#define done(c) (rpc[c] == None && msg[c] == NONE && (asked[c] || owed[c] || ph[c] != Trying && ph[c] != Leaving))
#define quiet (!healed || done(0) && done(1) && late == None)

active proctype Clock() {
end:	do
	:: atomic { quiet && (!TOKENS || now < HORIZON) ->
		printf("time\n");
		ttl = (ttl > 0 -> ttl - 1 : 0); g_ttl = (g_ttl > 0 -> g_ttl - 1 : 0); r_ttl = (r_ttl > 0 -> r_ttl - 1 : 0);
		if :: ttl == 0 && holder != NONE -> printf("store: the lease of owner %d ends\n", holder); holder = NONE; tok = 0 :: else fi;
		r_holder = (r_ttl == 0 -> NONE : r_holder); g_owner = (g_ttl == 0 && !TOKENS -> NONE : g_owner);
		clock_step(0); clock_step(1); now = (TOKENS -> now + 1 : 0); check }
	od
}

inline faults(c) {
	if
	:: rpc[c] != None ->
		if :: !SilenceIsNothing && rpc[c] == Renew -> left[c] = SAFE; lost[c] = 0 :: else fi;
		ph[c] = (rpc[c] == Rel && !ReleaseRepeated -> Gone : ph[c]); abandon(c); printf("%d: hears nothing\n", c)
	:: msg[c] != NONE -> forget_message(c); printf("%d: misses the message\n", c)
	:: ph[c] == Trying -> leave(c)
	:: ph[c] == Holding && runs(c) -> paused[c] = 1; printf("%d: pauses\n", c)
	:: ph[c] == Holding && !runs(c) -> paused[c] = 0; printf("%d: wakes up\n", c); if :: left[c] == 0 -> leave(c) :: else fi
	:: Trying <= ph[c] && ph[c] <= Leaving -> leave(c); ph[c] = Dead; doubt[c] = 0; paused[c] = 0; printf("%d: crashes\n", c)
	fi
}
active proctype Faults() {
end:	do
	:: atomic { !healed -> if :: faults(0) :: faults(1) fi; check }
#if FAILOVERS
	:: d_step { failed < FAILOVERS -> r_holder = holder; r_ttl = ttl; r_queue[0] = queue[0]; r_queue[1] = queue[1]; r_gone = gone; r_tok = tok; r_last = last; printf("replica: has all\n") }
	:: atomic { failed < FAILOVERS && (now > last + 1 || !TOKENS || !FailoverTakesTime) ->
		holder = r_holder; ttl = r_ttl; queue[0] = r_queue[0]; queue[1] = r_queue[1]; gone = r_gone; tok = r_tok; last = r_last; failed++;
		r_holder = NONE; r_ttl = 0; r_queue[0] = NONE; r_queue[1] = NONE; r_gone = 0; r_tok = 0; r_last = 0; printf("failover: the key is owner %d's\n", holder); check }
#endif
#if LIVE
	:: atomic { !healed -> healed = 1; if :: paused[0] && left[0] == 0 -> leave(0) :: else fi; if :: paused[1] && left[1] == 0 -> leave(1) :: else fi; paused[0] = 0; paused[1] = 0; printf("all faults end\n") }
#endif
	od
}

init {
	atomic { run Caller(0); run Caller(1); run Client(0); run Client(1); run Net(0); run Net(1) }
}
#if LIVE
ltl p5 { [] ((healed && ph[0] == Trying) -> <> (ph[0] == Holding)) }
#endif

/* caslock: a lock's cell with its mark, and the line of those who wait, in cells of their own.
   A load, a swap of the cell, a change and a reading of the line are one step each. Nobody
   looks by itself, so a wake-up that is lost is a dead end: P5. SHARED=1 has readers, too.

   The mark says that somebody may be in the line: a release must look there. Without it a free
   acquisition is one swap. The rules below are those of backend/caslock: attempt.decide,
   attempt.turn, Release and pass. FAULTS=1: a process crashes as a holder or a waiter, and a
   message is lost. Then a waiter looks by itself when nothing else happens, and passes places. */
#ifndef OFF
#define OFF 0          /* the number of a guard that is left out */
#endif
#ifndef N
#define N 3            /* processes */
#endif
#ifndef V
#define V 1            /* visits of each */
#endif
#ifndef SHARED
#define SHARED 0
#endif
#ifndef FAULTS
#define FAULTS 0
#endif

#define SwapCompares   (OFF != 1) /* P1: a swap has a condition */
#define LookAgain      (OFF != 2) /* P5: who has joined looks at the key again */
#define WaiterMarks    (OFF != 3) /* P5: who waits for a holder sets the mark */
#define MarkStays      (OFF != 4) /* P5 LONG: who has a place never clears the mark, even if it is alone */
#define TakerMarks     (OFF != 5) /* P5 LATER DEEP: who has a place sets the mark when it takes a key without one */
#define LeaveThenTell  (OFF != 6) /* P5: a release tells others after its own place is gone */
#define ReadAgain      (OFF != 7) /* P5 SHARED LATER DEEP: it reads the key again then, if others had it */

#ifdef LONG            /* what needs more visits of fewer */
#undef N
#undef V
#define N 2
#define V 3
#endif
#ifdef LATER
#undef V
#define V 2
#endif                 /* DEEP: not the shortest history, which takes too long to find */

bit is_P1, is_P5; /* always 0; SPIN prints them */

byte hold;      /* who has the key: a bit for each */
bit readers;    /* these are readers */
bit mark;
byte ver = 1;
byte ticket;    /* of the last place */
byte place[N];  /* 0: none */
bit reads[N];   /* what its owner asks for */
byte told[N];   /* a message: the version in which it is the owner's turn */
byte in;        /* who is in the section */
byte done;
byte dead;      /* holders that have crashed: a bit for each */
bit crashed, lost, looks; /* looks: by itself */

#define crash (FAULTS && !crashed)
#define me_bit (1 << me)
#define admits (h == 0 || (r && reads[me]))

inline load() { atomic { v = ver; h = hold; r = readers; w = mark } }

inline swap(nh, nr, nm) {
	atomic {
		if
		:: ver == v || !SwapCompares -> ver++; v = ver; hold = nh; readers = nr; mark = nm; h = nh; r = nr; w = nm; ok = true
		:: else -> ok = false
		fi
	}
}

/* next: nobody whose turn is earlier keeps me out. alone: nobody else is in the line. */
inline line() {
	atomic {
		next = true; alone = true; i = 0;
		do
		:: i < N ->
			if
			:: i != me && place[i] > 0 && !(h & (1 << i)) ->
				alone = false;
				if
				:: (place[me] == 0 || place[i] < place[me]) && !(reads[me] && reads[i]) -> next = false
				:: else
				fi
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* A message to all whose turn it is in the version that I know. */
inline tell() {
	atomic {
		i = 0;
		do
		:: i < N ->
			if
			:: i != me && place[i] > 0 && (h == 0 || (r && reads[i])) ->
				j = 0; first = true;
				do
				:: j < N ->
					if
					:: j != me && j != i && place[j] > 0 && place[j] < place[i] && !(reads[i] && reads[j]) && !(h & (1 << j)) -> first = false
					:: else
					fi;
					j++
				:: else -> break
				od;
				if
				:: first -> told[i] = v
				:: first && FAULTS && !lost -> lost = 1
				:: else
				fi
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0; j = 0; first = 0
	}
}

proctype Process(byte me) {
	byte v, h, i, j, hint, round;
	bit r, w, ok, next, alone, first;
	do
	:: round < V ->
		round++;
#if SHARED
		if :: reads[me] = 0 :: reads[me] = 1 fi;
#endif
newcomer:	load();
		if
		:: admits && !w -> swap(h | me_bit, reads[me], 0); if :: ok -> goto section :: else -> goto newcomer fi
		:: admits && w ->
			line();
			if
			:: next -> swap(h | me_bit, reads[me], !(alone && h == 0)); if :: ok -> goto section :: else -> goto newcomer fi
			:: else
			fi
		:: true /* it knows of others in the line */
		fi;
join:		atomic { ticket++; place[me] = ticket };
		if :: LookAgain :: else -> goto waiting fi;
look:		load();
		if
		:: v == hint -> swap(h | me_bit, reads[me], 1); if :: ok -> goto section :: else -> goto look fi
		:: v != hint && !admits && !w ->
			if
			:: WaiterMarks -> swap(h, r, 1); if :: ok :: else -> goto look fi
			:: else
			fi
		:: v != hint && !admits && w
		:: v != hint && admits && !w -> swap(h | me_bit, reads[me], TakerMarks); if :: ok -> goto section :: else -> goto look fi
		:: v != hint && admits && w ->
			line();
			if
			:: next -> swap(h | me_bit, reads[me], MarkStays || !alone); if :: ok -> goto section :: else -> goto look fi
			:: else
			fi
		fi;
waiting:	if
		:: atomic { told[me] > 0 -> hint = told[me]; told[me] = 0 }; goto look
		:: atomic { crash -> crashed = 1; done++; goto gone }
		:: atomic { FAULTS && timeout -> looks = 1 }
		fi;
		load(); /* who holds the key has crashed, and the lease is over */
		assert(is_P5 || (h & ~dead) == 0);
		if :: place[me] == 0 -> looks = 0; goto join :: else fi; /* it was passed */
		h = 0; swap(me_bit, reads[me], 1); looks = 0;
		if :: !ok -> goto look :: else fi;
		atomic { i = 0; do :: i < N -> if :: place[i] < place[me] -> place[i] = 0 :: else fi; i++ :: else -> break od; i = 0 };
section:	atomic {
			assert(is_P1 || in == 0 || (reads[me] && r && in == (hold & in)));
			in = in | me_bit; hint = 0
		};
		atomic { in = in & ~me_bit; if :: crash -> crashed = 1; dead = dead | me_bit; done++; goto gone :: skip fi };
		if :: place[me] = 0 :: skip fi; /* the holder leaves the line beside its work */
release:	load();
#if !SHARED
		if :: skip :: w = 1 fi; /* a waiter that cannot set the mark has asked the holder to */
#endif
		swap(h & ~me_bit, r, w);
		if :: ok :: else -> goto release fi;
		if :: LeaveThenTell -> place[me] = 0 :: else fi;
		if :: ReadAgain && h != 0 -> load() :: else fi;
		if :: w -> tell() :: else fi;
		atomic { place[me] = 0; told[me] = 0; v = 0; h = 0; r = 0; w = 0; ok = 0; next = 0; alone = 0 }
	:: else -> break
	od;
	done++;
gone:	skip
}

init {
	atomic { byte k = 0; do :: k < N -> run Process(k); k++ :: else -> break od };
#if FAULTS
	done == N
#else
	timeout -> assert(is_P5 || done == N)
#endif
}

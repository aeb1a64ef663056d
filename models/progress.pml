/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Progress. At any moment the network loses all packets in flight. From then on it loses every first transmission. It
 * delivers three kinds of packets: retransmissions of the oldest position that a worker waits for, the answers to them,
 * and retransmissions that a pending answer asks for; each only by one route, see ROUTES of the model. Then a worker of
 * every job must get a result. The outcome is again a state of the same model, because the network may do all of that;
 * so all results arrive step by step.
 *
 * The check is one step that leaves the state unchanged, because it contains no choice. The model defines `ROUTES`,
 * `WATCHED` after `check_route`, `LIVE(w)`, `save`, `restore` and `deliver`.
 */

#ifndef GIVEN_UP
#define GIVEN_UP false /* a worker is told that it cannot get the result */
#endif
#ifndef TRIES
#define TRIES 12 /* more than BYPASS and every route need */
#endif

/* Temporary variables of single steps, not part of the state. */
hidden byte tries[PARTIES];
hidden Queue saved_waiting[PARTIES];
hidden int saved_sent[PARTIES], saved_done[PARTIES], saved_answered[PARTIES], route;
hidden byte c, a, oldest, sweeps, advanced, unfinished, sender, bypass, served, served_bypass;

#ifndef PAST
#define PAST(w, p) false /* a worker asks for the position past the switches */
#endif
/* From the third retransmission on every second one has BYPASS. */
#if defined(BUG_NO_ESCALATION) || defined(SWITCHES_ALONE)
#define BYPASS(w) false
#else
#define BYPASS(w) (PAST(w, oldest) || (tries[w] >= 3 && tries[w] % 2 == 1))
#endif

/* Set `sender` to the next worker of the job that an answer asks and that can retransmit, once for each kind of answer;
 * PARTIES if there is none. */
inline choose(job, p) {
    sender = PARTIES;
    for (a : 0 .. WORKERS - 1) {
        if
        :: sender == PARTIES && HAS(asked_bypass & ~served_bypass, a) ->
            served_bypass = served_bypass | (1 << a);
            can_retransmit((job) * WORKERS + a, p);
            if
            :: LIVE((job) * WORKERS + a) && able ->
                sender = (job) * WORKERS + a;
                bypass = true
            :: else
            fi
        :: else
        fi
    };
    for (a : 0 .. WORKERS - 1) {
        if
        :: sender == PARTIES && HAS(asked & ~served, a) ->
            served = served | (1 << a);
            can_retransmit((job) * WORKERS + a, p);
            if
            :: LIVE((job) * WORKERS + a) && able ->
                sender = (job) * WORKERS + a;
                bypass = false
            :: else
            fi
        :: else
        fi
    }
}

/* Set `unfinished` to the jobs with a live worker that lacks a result. */
inline find_unfinished() {
    unfinished = 0;
    for (c : 0 .. PARTIES - 1) {
        if
        :: LIVE(c) && done[c] != ALL_POSITIONS -> unfinished = unfinished | (1 << JOB(c))
        :: else
        fi
    }
}

inline run_quiet_network() {
    for (c : 0 .. PARTIES - 1) {
        answered[c] = 0;
        tries[c] = 0
    };
    find_unfinished();
    advanced = 0;
    sweeps = 0;
    do
    :: sweeps < TRIES && (unfinished & ~advanced) != 0 ->
        sweeps++;
        for (c : 0 .. PARTIES - 1) {
            for (a : 0 .. POSITIONS - 1) {
                if
                :: LIVE(c) && MAY_SEND(c, a) -> send(c, a)
                :: else
                fi
            };
            if
            :: LIVE(c) && waiting[c].position[0] != 0 ->
                oldest = waiting[c].position[0] - 1;
                tries[c]++;
                asked = 0;
                asked_bypass = 0;
                served = 0;
                served_bypass = 0;
                sender = c;
                bypass = BYPASS(c);
                do
                :: sender != PARTIES ->
                    deliver(sender, oldest, bypass);
                    choose(JOB(c), oldest)
                :: else -> break
                od;
                if
                :: GIVEN_UP -> advanced = advanced | (1 << JOB(c))
                :: !GIVEN_UP && HAS(answered[c], oldest) ->
                    printf("worker %d has the result of position %d\n", c, oldest);
                    has_result(c, oldest);
                    tries[c] = 0;
                    advanced = advanced | (1 << JOB(c))
                :: else
                fi
            :: else
            fi
        }
    :: else -> break
    od;
    assert((unfinished & ~advanced) == 0)
}

proctype CheckProgress() {
end:
    do
    :: d_step {
        for (c : 0 .. PARTIES - 1) {
            saved_sent[c] = sent[c];
            for (a : 0 .. WINDOW - 1) {
                saved_waiting[c].position[a] = waiting[c].position[a]
            };
            saved_done[c] = done[c];
            saved_answered[c] = answered[c]
        };
        save();
        for (route : 0 .. ROUTES - 1) {
            check_route();
            if
            :: WATCHED ->
                printf("the network loses all packets in flight, and is quiet on route %d\n", route);
                run_quiet_network();
                for (c : 0 .. PARTIES - 1) {
                    sent[c] = saved_sent[c];
                    for (a : 0 .. WINDOW - 1) {
                        waiting[c].position[a] = saved_waiting[c].position[a]
                    };
                    done[c] = saved_done[c];
                    answered[c] = saved_answered[c]
                };
                restore()
            :: else
            fi
        };
        skip
    }
    od
}

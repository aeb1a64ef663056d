/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Progress. At any moment the network loses everything that is under way. From then on it loses every first send, and
 * brings the oldest position that a worker waits for, sent again, the answer to it, and what workers send again because
 * a pending answer asks them to; and each of these only by one route, see ROUTES of the model. Somebody in every
 * job has to get a result then. What comes of it is again a state of the same model, because the network may do all of
 * that; so step by step all results come.
 *
 * A check in one step that leaves the state as it was, because nothing in it is anybody's choice. The model defines
 * `ROUTES`, `WATCHED` after `look_at_route`, `LIVE(w)`, `save`, `restore` and `deliver`.
 */

#ifndef GIVEN_UP
#define GIVEN_UP false /* a worker is told that it cannot get the result */
#endif
#define TRIES 12 /* more than escalation and every route need */

/* Scratch of single steps: no part of the state. */
hidden byte tries[PARTIES];
hidden Queue saved_waiting[PARTIES];
hidden int saved_sent[PARTIES], saved_done[PARTIES], saved_answered[PARTIES], route;
hidden byte c, a, oldest, sweeps, advanced, unfinished, sender, past, heard, heard_past;

/* From the third try on every second one goes past the switches. */
#if defined(BUG_NO_ESCALATION) || defined(SWITCHES_ALONE)
#define BYPASS(w) false
#else
#define BYPASS(w) (tries[w] >= 3 && tries[w] % 2 == 1)
#endif

/* Who sends next: a worker of the job that an answer has asked and that can still send, once for every kind of answer;
 * PARTIES for nobody. */
inline choose(job, p) {
    sender = PARTIES;
    for (a : 0 .. WORKERS - 1) {
        if
        :: sender == PARTIES && HAS(asked_past & ~heard_past, a) ->
            heard_past = heard_past | (1 << a);
            can_retransmit((job) * WORKERS + a, p);
            if
            :: LIVE((job) * WORKERS + a) && able ->
                sender = (job) * WORKERS + a;
                past = true
            :: else
            fi
        :: else
        fi
    };
    for (a : 0 .. WORKERS - 1) {
        if
        :: sender == PARTIES && HAS(asked & ~heard, a) ->
            heard = heard | (1 << a);
            can_retransmit((job) * WORKERS + a, p);
            if
            :: LIVE((job) * WORKERS + a) && able ->
                sender = (job) * WORKERS + a;
                past = false
            :: else
            fi
        :: else
        fi
    }
}

/* `unfinished`: jobs with a live worker that lacks something. */
inline look_who_waits() {
    unfinished = 0;
    for (c : 0 .. PARTIES - 1) {
        if
        :: LIVE(c) && done[c] != ALL_POSITIONS -> unfinished = unfinished | (1 << JOB(c))
        :: else
        fi
    }
}

inline calm() {
    for (c : 0 .. PARTIES - 1) {
        answered[c] = 0;
        tries[c] = 0
    };
    look_who_waits();
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
                asked_past = 0;
                heard = 0;
                heard_past = 0;
                sender = c;
                past = BYPASS(c);
                do
                :: sender != PARTIES ->
                    deliver(sender, oldest, past);
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

proctype Calm() {
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
            look_at_route();
            if
            :: WATCHED ->
                printf("the network loses what is under way, and is calm on route %d\n", route);
                calm();
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

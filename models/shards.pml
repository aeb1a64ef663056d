/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rounds whose chunks have owners. In a scattered round the owner alone needs the words of the sum; the others get a
 * header-only result. In a gathered round the owner alone sends words, which all others need, and no packet is for
 * switches. fallback.pml, racks.pml and quorum.pml send every result by `give`.
 *
 * Abstraction: a packet of a form that its receiver refuses by its length changes no state, so it is no step.
 */

#ifndef SCATTERED
#define SCATTERED 0 /* set of the epochs whose rounds are scattered */
#endif
#ifndef GATHERED
#define GATHERED 0 /* set of the epochs whose rounds are gathered */
#endif
#define IS_SCATTERED(p) HAS(SCATTERED, (p) / CHUNKS)
#define IS_GATHERED(p) HAS(GATHERED, (p) / CHUNKS)

/* Rules of host/lanesum/protocol/packet.py: `owner_of`, `sends_words`, and `gets_words` without certified rounds. */
#define SHARD_OWNER(p) ((p) % CHUNKS % WORKERS)
#define OWNS(w, p) ((w) % WORKERS == SHARD_OWNER(p))
#define SENDS_WORDS(w, p) (OWNS(w, p) || !IS_GATHERED(p))
#ifdef BUG_GATHERED_LIKE_SCATTERED /* the owner alone gets words, also of a gathered round */
#define GETS_WORDS(w, p) (OWNS(w, p) || !(IS_SCATTERED(p) || IS_GATHERED(p)))
#else
#define GETS_WORDS(w, p) (IS_GATHERED(p) -> !OWNS(w, p) : OWNS(w, p) || !IS_SCATTERED(p))
#endif

/* Receivers of the words in an answer of the server, which may be a replay. */
#ifdef BUG_SERVER_HAS_SHARDS_IN_ORDER /* one shard after the other, instead of packets that take turns */
#define SERVER_GIVES_WORDS(w, p) (!IS_SCATTERED(p) || (w) % WORKERS == (p) % CHUNKS / (CHUNKS / WORKERS))
#elif defined(BUG_SERVER_REPLAYS_HEADERS) /* the words leave once, with the first result */
#define SERVER_GIVES_WORDS(w, p) (verdict != REPLAY && GETS_WORDS(w, p))
#else
#define SERVER_GIVES_WORDS(w, p) GETS_WORDS(w, p)
#endif

/* The owner that a packet at a switch names in field `spare`, from 1; 0 for none. p4src/bmv2/shorten.p4 takes the words
 * out of the copies for the others. With MISNAMED the name may be wrong, or missing. */
hidden byte name;
#define RIGHT_NAME(p) (IS_SCATTERED(p) -> SHARD_OWNER(p) + 1 : 0)
#define WRONG_NAME(p) ((SHARD_OWNER(p) + 1) % WORKERS + 1)
#define NAMED(w) (name == 0 || name == (w) % WORKERS + 1)

/* True if a switch sums the packet. With STRAY, packets of a gathered round lose their BYPASS. A switch sums no packet
 * without words. */
#ifdef BUG_SWITCH_COUNTS_HEADERS
#define FOR_SWITCHES(w, p) true
#elif defined(STRAY)
#define FOR_SWITCHES(w, p) SENDS_WORDS(w, p)
#else
#define FOR_SWITCHES(w, p) (!IS_GATHERED(p))
#endif

/* RoundState.needs_words: a header-only result is foreign to a worker that needs the words. */
#ifdef BUG_OWNER_ACCEPTS_HEADERS
#define ACCEPTS(w, p, with_words) true
#else
#define ACCEPTS(w, p, with_words) ((with_words) || !GETS_WORDS(w, p))
#endif

/* A result for worker w leaves. If the worker will use it, the worker has received the words of the chunk, or sent them
 * itself, or they are for another worker. */
inline give(w, p, with_words) {
    if
    :: ACCEPTS(w, p, with_words) ->
        assert((with_words) || HAS(done[w], p) || (IS_GATHERED(p) && OWNS(w, p)) || (IS_SCATTERED(p) && !OWNS(w, p)));
        answered[w] = answered[w] | (1 << (p))
    :: else
    fi
}

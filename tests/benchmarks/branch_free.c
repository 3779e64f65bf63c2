/* As interleaved.c, but an event takes no branch that depends on the data: choices are made by masks, and what is not to
   be written goes to a place that nobody reads.  The levels that are not empty are the bits of a word.  Is it the
   branches that keep several traces in turns from being faster? */

#include <stdint.h>
#include <stdlib.h>

#define MOST 8
#define LEVELS 66 /* bits 1 to 62, and NOWHERE */
#define NOWHERE 64

struct lane {
    const double *arrival, *service;
    double *response;
    long jobs, upcoming, events;
    uint64_t occupied;
    /* next[jobs + level] is the first job of a level, and tail[level] is jobs + level when the level is empty */
    uint32_t *next, *tail;
    double now;
};

static inline long choose(long condition, long one, long other) { return other ^ ((one ^ other) & -condition); }

static inline void event(struct lane *lane, const double *start, const double *end, const double *cost)
{
    long upcoming = lane->upcoming, jobs = lane->jobs;
    uint64_t occupied = lane->occupied;
    double now = lane->now, arrives = lane->arrival[upcoming < jobs ? upcoming : jobs - 1];
    long lowest = __builtin_ctzll(occupied | 1ull << 63);
    long arrival = (occupied == 0) | ((upcoming < jobs) & (arrives <= now));
    long job = choose(arrival, upcoming, lane->next[jobs + lowest]);
    long level = lowest & (arrival - 1);
    double later = arrives > now ? arrives : now;
    now = arrival ? later : now;
    lane->upcoming = upcoming + arrival;
    double service = lane->service[job];
    long demoted = service > end[level];
    now += cost[level];
    now += (service < end[level] ? service : end[level]) - start[level];
    long emptied = job == lane->tail[level];
    lane->next[jobs + level] = lane->next[job];
    lane->tail[level] = choose(emptied, jobs + level, lane->tail[level]);
    long below = choose(demoted, level + 1, NOWHERE);
    lane->next[lane->tail[below]] = job;
    lane->tail[below] = job;
    lane->occupied = (occupied & ~((uint64_t)emptied << level)) | (uint64_t)demoted << (level + 1);
    lane->response[job] = now - lane->arrival[job]; /* again at the next visit, if demoted */
    lane->now = now;
}

static inline __attribute__((always_inline)) void take_turns(struct lane *lanes, long traces, const double *start,
                                                             const double *end, const double *cost)
{
    long together = lanes[0].events;
    for (long i = 1; i < traces; i++)
        together = lanes[i].events < together ? lanes[i].events : together;
    for (long turn = 0; turn < together; turn++)
        for (long i = 0; i < traces; i++)
            event(&lanes[i], start, end, cost);
    for (long i = 0; i < traces; i++)
        for (long turn = together; turn < lanes[i].events; turn++)
            event(&lanes[i], start, end, cost);
}

/* As serve_interleaved of interleaved.c, for one trace too, and with no more than 62 levels. */
void serve_branch_free(const double *arrival, const double *service, long jobs, long traces, const double *start,
                       const double *end, const double *cost, long levels, double *response)
{
    struct lane lanes[MOST];
    double starts[LEVELS] = {0}, ends[LEVELS] = {0}, costs[LEVELS] = {0};
    for (long level = 0; level < levels; level++)
        starts[level] = start[level], ends[level] = end[level], costs[level] = cost[level];
    for (long i = 0; i < traces; i++) {
        uint32_t *memory = calloc(jobs + 2 * LEVELS, sizeof(uint32_t));
        lanes[i] = (struct lane){arrival + i * jobs, service + i * jobs, response + i * jobs, jobs, 0, jobs, 0, memory,
                                 memory + jobs + LEVELS, 0};
        lanes[i].tail[0] = UINT32_MAX; /* level 0 is an index and never emptied */
        for (long level = 1; level < LEVELS; level++)
            lanes[i].tail[level] = jobs + level;
        for (long job = 0; job < jobs; job++)
            for (long level = 0; service[i * jobs + job] > end[level]; level++)
                lanes[i].events++;
    }
    switch (traces) { /* known numbers, for the compiler to unroll */
    case 1: take_turns(lanes, 1, starts, ends, costs); break;
    case 2: take_turns(lanes, 2, starts, ends, costs); break;
    case 4: take_turns(lanes, 4, starts, ends, costs); break;
    case 8: take_turns(lanes, 8, starts, ends, costs); break;
    }
    for (long i = 0; i < traces; i++)
        free(lanes[i].next);
}

/* Several traces served in turns by one loop, one event of each at a time: does it fill the waits of a single one?
   Names as in reference.c, which does the same for one trace. */

#include <stdlib.h>

#define MOST 8

struct lane {
    const double *arrival, *service;
    double *response;
    long jobs, levels, lowest, upcoming;
    int *next, *head, *tail;
    double now;
};

static inline int event(struct lane *lane, const double *start, const double *end, const double *cost)
{
    long job, level;
    if (lane->upcoming < lane->jobs &&
        (lane->lowest == lane->levels || lane->arrival[lane->upcoming] <= lane->now)) {
        job = lane->upcoming++;
        if (lane->arrival[job] > lane->now)
            lane->now = lane->arrival[job];
        level = 0;
    } else if (lane->lowest < lane->levels) {
        level = lane->lowest;
        job = lane->head[level];
        lane->head[level] = lane->next[job];
        while (lane->lowest < lane->levels && lane->head[lane->lowest] < 0)
            lane->lowest++;
    } else
        return 0;
    lane->now += cost[level];
    if (lane->service[job] > end[level]) {
        lane->now += end[level] - start[level];
        long below = level + 1;
        lane->next[job] = -1;
        if (lane->head[below] < 0)
            lane->head[below] = job;
        else
            lane->next[lane->tail[below]] = job;
        lane->tail[below] = job;
        if (below < lane->lowest)
            lane->lowest = below;
    } else {
        lane->now += lane->service[job] - start[level];
        lane->response[job] = lane->now - lane->arrival[job];
    }
    return 1;
}

static inline __attribute__((always_inline)) void take_turns(struct lane *lanes, long traces, const double *start,
                                                             const double *end, const double *cost)
{
    for (int busy = 1; busy;) {
        busy = 0;
        for (long i = 0; i < traces; i++)
            busy |= event(&lanes[i], start, end, cost);
    }
}

/* arrival, service and response are one after the other for all traces, of which there are two, four or eight. */
void serve_interleaved(const double *arrival, const double *service, long jobs, long traces, const double *start,
                       const double *end, const double *cost, long levels, double *response)
{
    struct lane lanes[MOST];
    for (long i = 0; i < traces; i++) {
        int *memory = malloc((jobs + 2 * levels) * sizeof(int));
        lanes[i] = (struct lane){arrival + i * jobs, service + i * jobs, response + i * jobs, jobs, levels, levels, 0,
                                 memory, memory + jobs, memory + jobs + levels, 0};
        for (long level = 0; level < levels; level++)
            lanes[i].head[level] = -1;
    }
    switch (traces) { /* known numbers, for the compiler to unroll */
    case 2: take_turns(lanes, 2, start, end, cost); break;
    case 4: take_turns(lanes, 4, start, end, cost); break;
    case 8: take_turns(lanes, 8, start, end, cost); break;
    }
    for (long i = 0; i < traces; i++)
        free(lanes[i].next);
}

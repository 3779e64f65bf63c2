/* MLPT on a given trace, written plainly: the first level is an index into the arrival times, every other level a linked
   list, and the next level to serve is found by a scan.  The benchmark compiles it with gcc -O3 -march=native. */

#include <stdlib.h>

/* Levels count from 0: level i holds jobs of attained service start[i], serves them up to end[i], and cost[i] is paid
   each time one of them is scheduled.  lazy waives the cost of a demotion that finds all levels up to the new one empty. */
void serve(const double *arrival, const double *service, long jobs, const double *start, const double *end,
           const double *cost, long levels, int lazy, double *response)
{
    int *next = malloc(jobs * sizeof(int));
    int *head = malloc(levels * sizeof(int));
    int *tail = malloc(levels * sizeof(int));
    char *waived = malloc(jobs);
    for (long i = 0; i < levels; i++)
        head[i] = -1;
    long lowest = levels, upcoming = 0;
    double now = 0;
    for (;;) {
        long job, level;
        if (upcoming < jobs && (lowest == levels || arrival[upcoming] <= now)) {
            job = upcoming++;
            if (arrival[job] > now)
                now = arrival[job];
            level = 0;
            if (lazy)
                waived[job] = 0;
        } else if (lowest < levels) {
            level = lowest;
            job = head[level];
            head[level] = next[job];
            while (lowest < levels && head[lowest] < 0)
                lowest++;
        } else
            break;
        if (!(lazy && waived[job]))
            now += cost[level];
        if (service[job] > end[level]) {
            now += end[level] - start[level];
            long below = level + 1;
            if (lazy)
                waived[job] = lowest > below && !(upcoming < jobs && arrival[upcoming] <= now);
            next[job] = -1;
            if (head[below] < 0)
                head[below] = job;
            else
                next[tail[below]] = job;
            tail[below] = job;
            if (below < lowest)
                lowest = below;
        } else {
            now += service[job] - start[level];
            response[job] = now - arrival[job];
        }
    }
    free(next);
    free(head);
    free(tail);
    free(waived);
}

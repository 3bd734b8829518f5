/* SPDX-License-Identifier: MIT */
/*
 * A set of events that other programs can read: requests, requests under way, their times, and how
 * they ended. While it runs, and afterwards, its file is in the folder that it prints.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { REQUESTS, ACTIVE, TIME, BY_STATUS, ENTRIES };
enum { THREADS = 4, SERVED = 100000 };

static const struct percpu_event_desc descs[] = {
	[REQUESTS] = {.name = "requests", .help = "Requests served"},
	[ACTIVE] = {.name = "active", .help = "Requests under way", .kind = PERCPU_GAUGE},
	[TIME] = {.name = "time",
		  .unit = "ns",
		  .help = "Time per request",
		  .kind = PERCPU_HISTOGRAM,
		  .precision = 2,
		  .lowest = 100,
		  .highest = 1000000000},
	[BY_STATUS] = {.name = "by_status",
		       .help = "Requests by status",
		       .labels = {"status"},
		       .series = 8},
};
static PERCPU_EVENTS(web, "web_events", "1", descs);

static struct percpu_series ok, not_found;

static void *serve(void *arg)
{
	for (unsigned i = 0; i < SERVED; i++) {
		percpu_gauge_inc(&web, ACTIVE);
		percpu_histogram_observe(&web, TIME, 1000 + i % 5000);
		percpu_series_inc(i % 10 ? &ok : &not_found);
		percpu_event_inc(&web, REQUESTS);
		percpu_gauge_dec(&web, ACTIVE);
	}
	return arg;
}

int main(void)
{
	const struct percpu_events_options options = {.flags = PERCPU_EVENTS_ANEW};
	struct percpu_events_info info;
	int64_t values[ENTRIES];
	pthread_t threads[THREADS];

	/* Without a file it counts all the same. */
	(void)percpu_events_open(&web, &options);
	percpu_series_open(&ok, &web, BY_STATUS, (const char *[]){"200"});
	percpu_series_open(&not_found, &web, BY_STATUS, (const char *[]){"404"});
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	percpu_events_read(&web, values);
	percpu_events_status(&web, &info);
	printf("%lld requests, %lld under way, %lld with status 404, in %s\n",
	       (long long)values[REQUESTS], (long long)values[ACTIVE],
	       (long long)percpu_series_read(&not_found), info.shared ? info.path : "memory");
	return values[TIME] == (int64_t)THREADS * SERVED ? 0 : 1;
}

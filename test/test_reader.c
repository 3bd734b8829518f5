/* SPDX-License-Identifier: MIT */
/* Reading sets from outside: what is in them, who is in them, and files that lie. */
#include "sets.h"

#include "cpus.h"

enum { ADDS = 20000 };

static struct percpu_reader *reader;
static struct percpu_snapshot *now;

static void begin(void)
{
	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
}

static void end(void)
{
	percpu_snapshot_free(now);
	percpu_reader_close(reader);
	sets_end();
}

static void take(unsigned flags)
{
	percpu_snapshot_free(now);
	CHECK_OK(percpu_snapshot_take(&now, reader, flags));
}

/* The sample of an entry with this first label; NULL for any. */
static const struct percpu_sample *sample_in(const struct percpu_snapshot *snapshot, unsigned entry,
					     const char *label)
{
	for (unsigned i = 0; i < snapshot->n; i++)
		if (snapshot->samples[i].entry == entry &&
		    (!label || strcmp(snapshot->samples[i].labels[0], label) == 0))
			return &snapshot->samples[i];
	return NULL;
}

static int64_t value_of(unsigned entry)
{
	return sample_in(now, entry, NULL)->value;
}

TEST(values_are_what_was_counted)
{
	const struct percpu_sample *latency;
	struct percpu_series series;

	begin();
	percpu_event_add(&web, HITS, 42);
	percpu_gauge_add(&web, ACTIVE, 10);
	percpu_gauge_add(&web, ACTIVE, -3);
	percpu_histogram_observe(&web, LATENCY, 100);
	percpu_histogram_observe(&web, LATENCY, 5000000);
	CHECK_OK(percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"GET", "200"}));
	percpu_series_add(&series, 5);
	percpu_event_inc(&web, BY_STATUS);
	take(0);
	CHECK_EQ(value_of(HITS), 42);
	CHECK_EQ(value_of(MISSES), 0);
	CHECK_EQ(value_of(ACTIVE), 7);
	latency = sample_in(now, LATENCY, NULL);
	CHECK_EQ(latency->count, 2);
	CHECK_EQ(latency->value, 2);
	CHECK_EQ(latency->sum, 5000100);
	CHECK(latency->exact);
	CHECK_EQ(latency->nbuckets, percpu_histogram_buckets(&descs[LATENCY]));
	CHECK_EQ(latency->buckets[latency->nbuckets - 1], 1);
	CHECK_EQ(sample_in(now, BY_STATUS, "GET")->value, 5);
	CHECK_STR_EQ(sample_in(now, BY_STATUS, "GET")->labels[1], "200");
	CHECK(!sample_in(now, BY_STATUS, "GET")->overflow);
	CHECK_EQ(sample_in(now, BY_STATUS, "_overflow")->value, 1);
	CHECK(sample_in(now, BY_STATUS, "_overflow")->overflow);
	CHECK(sample_in(now, HITS, NULL)->cpus == NULL);
	end();
}

TEST(descriptions_are_what_was_declared)
{
	struct percpu_reader_info info;

	begin();
	CHECK_OK(percpu_reader_status(reader, &info));
	CHECK_STR_EQ(info.path, web_path);
	CHECK_STR_EQ(info.name, "web");
	CHECK_STR_EQ(info.version, "1");
	CHECK(*info.program != '\0');
	CHECK_EQ(info.pid, getpid());
	CHECK_EQ(info.entries, ENTRIES);
	CHECK(info.cpus >= 1 && info.cpus <= percpu_ncpus());
	CHECK(info.memory > 0 && info.memory <= info.size);
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct percpu_event_desc *desc = percpu_reader_desc(reader, i);

		CHECK_STR_EQ(desc->name, descs[i].name);
		CHECK_STR_EQ(desc->unit, descs[i].unit ? descs[i].unit : "");
		CHECK_STR_EQ(desc->help, descs[i].help ? descs[i].help : "");
		CHECK_EQ(desc->kind, descs[i].kind);
		CHECK_EQ(desc->series, descs[i].series);
		CHECK_EQ(desc->precision, descs[i].precision);
		CHECK_EQ(desc->highest, descs[i].highest);
		for (unsigned k = 0; k < PERCPU_EVENTS_LABELS; k++)
			CHECK_EQ(desc->labels[k] == NULL, descs[i].labels[k] == NULL);
		CHECK_EQ(percpu_histogram_buckets(desc), percpu_histogram_buckets(&descs[i]));
	}
	CHECK(percpu_reader_desc(reader, ENTRIES) == NULL);
	CHECK(percpu_reader_desc(NULL, 0) == NULL);
	end();
}

TEST(values_by_cpu_add_up)
{
	begin();
	for (unsigned i = 0; i < 100; i++) {
		go_to_nth_cpu(i);
		percpu_event_inc(&web, HITS);
		percpu_gauge_dec(&web, ACTIVE);
		percpu_histogram_observe(&web, LATENCY, i);
	}
	take(PERCPU_SNAPSHOT_CPUS);
	for (unsigned i = 0; i < now->n; i++) {
		int64_t sum = 0;

		for (unsigned cpu = 0; cpu <= now->cpus; cpu++)
			sum += now->samples[i].cpus[cpu];
		CHECK_EQ(sum, now->samples[i].value);
	}
	CHECK_EQ(value_of(HITS), 100);
	CHECK_EQ(value_of(ACTIVE), -100);
	for (unsigned cpu = 0; cpu < now->cpus; cpu++) {
		int64_t values[ENTRIES];

		CHECK_OK(percpu_events_read_cpus(&web, &cpu, 1, values));
		CHECK_EQ(sample_in(now, HITS, NULL)->cpus[cpu], values[HITS]);
		CHECK_EQ(sample_in(now, LATENCY, NULL)->cpus[cpu], values[LATENCY]);
	}
	end();
}

TEST(differences_are_what_came_in_between)
{
	struct percpu_snapshot *before, *difference;
	struct percpu_series series;

	begin();
	percpu_event_add(&web, HITS, 5);
	percpu_gauge_inc(&web, ACTIVE);
	percpu_histogram_observe(&web, LATENCY, 50);
	CHECK_OK(percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"GET", "1"}));
	percpu_series_inc(&series);
	CHECK_OK(percpu_snapshot_take(&before, reader, PERCPU_SNAPSHOT_CPUS));
	percpu_event_add(&web, HITS, 7);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_histogram_observe(&web, LATENCY, 500);
	percpu_series_inc(&series);
	CHECK_OK(percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"PUT", "2"}));
	percpu_series_add(&series, 3);
	take(PERCPU_SNAPSHOT_CPUS);
	CHECK_OK(percpu_snapshot_since(&difference, now, before));
	CHECK_EQ(sample_in(difference, HITS, NULL)->value, 7);
	CHECK_EQ(sample_in(difference, ACTIVE, NULL)->value, -2);
	CHECK_EQ(sample_in(difference, LATENCY, NULL)->count, 1);
	CHECK_EQ(sample_in(difference, LATENCY, NULL)->sum, 500);
	CHECK_EQ(percpu_sample_percentile(sample_in(difference, LATENCY, NULL), 0) >= 500, 1);
	CHECK_EQ(sample_in(difference, BY_STATUS, "GET")->value, 1);
	CHECK_EQ(sample_in(difference, BY_STATUS, "PUT")->value, 3);
	CHECK_STR_EQ(sample_in(difference, BY_STATUS, "PUT")->labels[1], "2");
	CHECK_EQ(value_of(HITS), 12);
	{
		int64_t sum = 0;

		for (unsigned cpu = 0; cpu <= difference->cpus; cpu++)
			sum += sample_in(difference, HITS, NULL)->cpus[cpu];
		CHECK_EQ(sum, 7);
	}
	percpu_snapshot_free(before);
	CHECK_STR_EQ(sample_in(difference, BY_STATUS, "PUT")->labels[0], "PUT");
	CHECK(difference->monotonic < 1000000000ull * TEST_WATCHDOG_SECONDS);
	now->generation++;
	CHECK_EQ(percpu_snapshot_since(&before, difference, now), -ESTALE);
	percpu_snapshot_free(difference);
	end();
}

TEST(percentiles_are_bounds_of_their_buckets)
{
	const struct percpu_sample *latency;

	begin();
	take(0);
	CHECK_EQ(percpu_sample_percentile(sample_in(now, LATENCY, NULL), 0.5), 0);
	for (uint64_t v = 1; v <= 1000; v++)
		percpu_histogram_observe(&web, LATENCY, v * 100);
	take(0);
	latency = sample_in(now, LATENCY, NULL);
	for (unsigned percent = 1; percent < 100; percent++) {
		uint64_t value = percpu_sample_percentile(latency, percent / 100.0);

		CHECK(value >= percent * 1000ull);
		CHECK(value <= (percent * 1000ull + 100) * 9 / 8 + 100);
	}
	CHECK(percpu_sample_percentile(latency, 7) >= 100000);
	CHECK_EQ(percpu_sample_percentile(latency, -1), 0);
	CHECK_EQ(percpu_sample_percentile(sample_in(now, HITS, NULL), 0.5), 0);
	CHECK_EQ(percpu_sample_percentile(NULL, 0.5), 0);
	percpu_histogram_observe(&web, LATENCY, 1u << 30);
	take(0);
	CHECK_EQ(percpu_sample_percentile(sample_in(now, LATENCY, NULL), 1), UINT64_MAX);
	end();
}

TEST(two_entries_of_one_label_set_are_added_up)
{
	struct percpu_series one, two;
	struct inside inside;
	struct segment_series *family;

	begin();
	CHECK_OK(percpu_series_open(&one, &web, BY_STATUS, (const char *[]){"GET", "1"}));
	CHECK_OK(percpu_series_open(&two, &web, BY_STATUS, (const char *[]){"PUT", "2"}));
	percpu_series_add(&one, 3);
	percpu_series_add(&two, 4);
	inside = inside_of(web_path);
	family = &segment_series(inside.map)[segment_metrics(inside.map)[BY_STATUS].first_series];
	memcpy(family[2].text, family[1].text, sizeof(family[1].text));
	take(PERCPU_SNAPSHOT_CPUS);
	CHECK_EQ(sample_in(now, BY_STATUS, "GET")->value, 7);
	CHECK(sample_in(now, BY_STATUS, "PUT") == NULL);
	CHECK(sample_in(now, IN_POOL, "_overflow") != NULL);
	end();
}

TEST(a_series_that_is_being_made_is_not_there_yet)
{
	struct percpu_series one;
	struct inside inside;
	struct segment_series *family;

	begin();
	CHECK_OK(percpu_series_open(&one, &web, BY_STATUS, (const char *[]){"GET", "1"}));
	inside = inside_of(web_path);
	family = &segment_series(inside.map)[segment_metrics(inside.map)[BY_STATUS].first_series];
	family[1].state = SERIES_TAKEN;
	take(0);
	CHECK(sample_in(now, BY_STATUS, "GET") == NULL);
	CHECK_OK(percpu_series_open(&one, &web, BY_STATUS, (const char *[]){"GET", "1"}));
	percpu_series_inc(&one);
	take(0);
	CHECK_EQ(sample_in(now, BY_STATUS, "GET")->value, 1);
	end();
}

/* ---- Find ---- */

static unsigned listed, broken;

static int note(void *arg, const char *path, struct percpu_reader *one, int error, const char *why)
{
	CHECK(arg == &listed);
	if (!strstr(path, sets_folder))
		return 0; /* of other programs on this machine */
	if (one) {
		listed++;
	} else {
		CHECK_EQ(error, -EPROTO);
		CHECK(strstr(why, "shorter") != NULL);
		broken++;
	}
	return 0;
}

static int stop_at_once(void *arg, const char *path, struct percpu_reader *one, int error,
			const char *why)
{
	(void)arg, (void)path, (void)one, (void)error, (void)why;
	return -EINTR;
}

TEST(sets_are_listed_and_found)
{
	struct percpu_reader *other;
	struct percpu_reader_info info;
	char path[160], why[200];
	int fd;

	begin();
	snprintf(path, sizeof(path), "%s/broken.percpu", sets_folder);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK(percpu_reader_list(note, &listed) >= 2);
	CHECK_EQ(listed, 1);
	CHECK_EQ(broken, 1);
	CHECK_EQ(percpu_reader_list(stop_at_once, NULL), -EINTR);
	CHECK_EQ(percpu_reader_list(NULL, NULL), -EINVAL);
	snprintf(path, sizeof(path), "%d", (int)getpid());
	CHECK_OK(percpu_reader_open(&other, path, NULL, 0));
	CHECK_OK(percpu_reader_status(other, &info));
	CHECK_STR_EQ(info.name, "web");
	percpu_reader_close(other);
	CHECK_OK(percpu_reader_open(&other, web_path, NULL, 0));
	percpu_reader_close(other);
	CHECK_EQ(percpu_reader_open(&other, "nothing", why, sizeof(why)), -ENOENT);
	CHECK_STR_EQ(why, "nothing: there is no set of this name");
	CHECK_EQ(percpu_reader_open(&other, "/nonexistent/x", why, sizeof(why)), -ENOENT);
	CHECK_EQ(percpu_reader_open(&other, "999999999", why, sizeof(why)), -ENOENT);
	CHECK_EQ(percpu_reader_open(&other, "broken", why, sizeof(why)), -EPROTO);
	CHECK_EQ(percpu_reader_open(&other, sets_folder, why, sizeof(why)), -EPROTO);
	CHECK_EQ(percpu_reader_open(&other, "/dev/null", why, sizeof(why)), -EPROTO);
	CHECK_EQ(percpu_reader_open(&other, "", NULL, 0), -EINVAL);
	CHECK_EQ(percpu_reader_open(&other, NULL, NULL, 0), -EINVAL);
	CHECK_EQ(percpu_reader_open(NULL, "web", NULL, 0), -EINVAL);
	CHECK_EQ(percpu_reader_open(&other, "web", NULL, 9), -EINVAL);
	CHECK_EQ(percpu_reader_status(NULL, &info), -EINVAL);
	CHECK_EQ(percpu_snapshot_take(NULL, reader, 0), -EINVAL);
	CHECK_EQ(percpu_snapshot_take(&now, NULL, 0), -EINVAL);
	CHECK_EQ(percpu_snapshot_take(&now, reader, 128), -EINVAL);
	CHECK_EQ(percpu_snapshot_since(NULL, NULL, NULL), -EINVAL);
	end();
}

/* ---- Dead or alive ---- */

static enum percpu_life life(void)
{
	struct percpu_reader_info info;

	CHECK_OK(percpu_reader_status(reader, &info));
	return info.life;
}

static void count_and_die(void *arg)
{
	CHECK_OK(percpu_events_open(&web, NULL));
	for (int i = 0; i < ADDS; i++)
		percpu_event_inc(&web, HITS);
	if (arg)
		raise(SIGKILL);
}

TEST(a_dead_set_is_told_and_still_there)
{
	sets_begin();
	CHECK_EQ(test_in_child(count_and_die, &now), -SIGKILL);
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
	CHECK_EQ(life(), PERCPU_LIFE_DEAD);
	take(0);
	CHECK_EQ(value_of(HITS), ADDS);
	CHECK_STR_EQ(percpu_life_name(life()), "dead");
	end();
}

TEST(who_is_in_it_is_alive)
{
	char byte;
	int ends[2];
	pid_t child;

	begin();
	CHECK_EQ(life(), PERCPU_LIFE_ALIVE);
	CHECK_EQ(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	/* Only the forked child has it now. */
	CHECK_OK(percpu_events_close(&web));
	CHECK_EQ(life(), PERCPU_LIFE_ALIVE);
	close(ends[1]);
	CHECK_EQ(test_wait(child), 0);
	CHECK_EQ(life(), PERCPU_LIFE_DEAD);
	end();
}

TEST(who_closed_all_files_is_alive_by_its_number)
{
	begin();
	percpu_reader_close(reader);
	for (int fd = 3; fd < 1000; fd++)
		close(fd);
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
	CHECK_EQ(life(), PERCPU_LIFE_ALIVE);
	end();
}

TEST(another_namespace_is_unknown_and_another_boot_dead)
{
	struct inside inside;

	sets_begin();
	CHECK_EQ(test_in_child(count_and_die, NULL), 0);
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
	CHECK_EQ(life(), PERCPU_LIFE_DEAD);
	inside = inside_of(web_path);
	inside.header->pid_space++;
	CHECK_EQ(life(), PERCPU_LIFE_UNKNOWN);
	CHECK_STR_EQ(percpu_life_name(life()), "unknown");
	inside.header->boot[3] ^= 1;
	percpu_reader_close(reader);
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
	CHECK_EQ(life(), PERCPU_LIFE_DEAD);
	end();
}

/* A number that was used again is not the process. */
TEST(another_process_with_the_number_is_dead)
{
	struct inside inside;

	sets_begin();
	CHECK_EQ(test_in_child(count_and_die, NULL), 0);
	CHECK_OK(percpu_reader_open(&reader, "web", NULL, 0));
	inside = inside_of(web_path);
	inside.header->pid = 1;
	CHECK_EQ(life(), PERCPU_LIFE_DEAD);
	end();
}

/* ---- Files that lie, or change ---- */

TEST(a_removed_or_replaced_file_is_stale)
{
	static const struct percpu_events_options anew = {.flags = PERCPU_EVENTS_ANEW};
	struct percpu_reader_info info;

	begin();
	CHECK_OK(percpu_events_close(&web));
	CHECK_OK(percpu_events_open(&web, &anew));
	CHECK_EQ(percpu_snapshot_take(&now, reader, 0), -ESTALE);
	CHECK_EQ(percpu_reader_status(reader, &info), -ESTALE);
	CHECK_STR_EQ(info.name, "web");
	now = NULL;
	end();
}

TEST(a_file_that_becomes_shorter_is_stale_and_no_crash)
{
	struct inside inside;

	begin();
	inside = inside_of(web_path);
	munmap(inside.map, inside.size);
	CHECK_OK(percpu_events_close(&web));
	for (size_t size = inside.size; size > 0; size = size > 70000 ? size - 60000 : size / 2) {
		CHECK_EQ(truncate(web_path, (off_t)size - 1), 0);
		CHECK_EQ(percpu_snapshot_take(&now, reader, 0), -ESTALE);
	}
	now = NULL;
	end();
}

static size_t allocated(void)
{
	struct stat st;

	CHECK_EQ(stat(web_path, &st), 0);
	return (size_t)st.st_blocks;
}

TEST(reading_allocates_nothing)
{
	size_t before;

	begin();
	before = allocated();
	take(PERCPU_SNAPSHOT_CPUS);
	CHECK_EQ(allocated(), before);
	end();
}

/* Opens it and reads it, if it can be opened; whatever it says. */
static bool read_it_all(void)
{
	struct percpu_snapshot *one, *two, *difference;
	struct percpu_reader_info info;

	if (percpu_reader_open_path(&reader, web_path, NULL, 0) != 0)
		return false;
	(void)percpu_reader_status(reader, &info);
	if (percpu_snapshot_take(&one, reader, PERCPU_SNAPSHOT_CPUS) == 0) {
		CHECK_OK(percpu_snapshot_take(&two, reader, 0));
		CHECK_OK(percpu_snapshot_since(&difference, two, one));
		for (unsigned i = 0; i < difference->n; i++)
			(void)percpu_sample_percentile(&difference->samples[i], 0.9);
		percpu_snapshot_free(one);
		percpu_snapshot_free(two);
		percpu_snapshot_free(difference);
	}
	percpu_reader_close(reader);
	reader = NULL;
	return true;
}

/* Each byte before the planes, with values that matter. What is refused here is refused by joining
 * as well: the same check. */
TEST(no_byte_of_a_file_can_crash_a_reader)
{
	static const unsigned char values[] = {0, 0xff};
	struct inside inside;
	unsigned refused = 0, accepted = 0;
	size_t end_of_text;

	begin();
	percpu_reader_close(reader);
	percpu_histogram_observe(&web, LATENCY, 100);
	CHECK_OK(percpu_events_close(&web));
	inside = inside_of(web_path);
	end_of_text = (size_t)(inside.header->text + inside.header->text_size);
	for (size_t at = 0; at < end_of_text; at += at < 1200 ? 1 : 7) {
		unsigned char saved = (unsigned char)inside.map[at];

		for (size_t v = 0; v < sizeof(values); v++) {
			inside.map[at] = (char)values[v];
			*(read_it_all() ? &accepted : &refused) += 1;
		}
		inside.map[at] = (char)saved;
	}
	CHECK(refused > 200);
	CHECK(accepted > 200);
	CHECK(read_it_all());
	end();
}

TEST(wild_cells_are_values_and_nothing_else)
{
	struct inside inside;
	uint64_t x = 88172645463325252ull;

	begin();
	CHECK_OK(percpu_events_close(&web));
	inside = inside_of(web_path);
	for (unsigned round = 0; round < 50; round++) {
		for (size_t at = (size_t)inside.header->planes; at + 8 <= inside.size; at += 8) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			memcpy(inside.map + at, &x, sizeof(x));
		}
		CHECK(read_it_all());
	}
	reader = NULL;
	end();
}

/* ---- While others count ---- */

static int stop;

static void keep_counting(unsigned index, void *arg)
{
	(void)arg;
	if (index > 0) {
		while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
			percpu_event_inc(&web, HITS);
			percpu_gauge_inc(&web, ACTIVE);
			percpu_gauge_dec(&web, ACTIVE);
			percpu_histogram_observe(&web, LATENCY, 1000);
		}
		return;
	}
	for (int i = 0; i < 1000; i++) {
		int64_t hits_before = now ? value_of(HITS) : 0;
		uint64_t count_before = now ? sample_in(now, LATENCY, NULL)->count : 0;
		const struct percpu_sample *latency;

		take(0);
		CHECK(value_of(HITS) >= hits_before);
		CHECK(value_of(ACTIVE) >= 0);
		latency = sample_in(now, LATENCY, NULL);
		CHECK(latency->count >= count_before);
		if (latency->exact)
			CHECK_EQ(latency->sum, 1000 * latency->count);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST(totals_never_go_backwards_gauges_never_below_zero_histograms_belong_together)
{
	begin();
	test_threads(3, keep_counting, NULL);
	take(0);
	CHECK_EQ(value_of(ACTIVE), 0);
	CHECK(sample_in(now, LATENCY, NULL)->exact);
	CHECK_EQ(sample_in(now, LATENCY, NULL)->sum, 1000 * sample_in(now, LATENCY, NULL)->count);
	end();
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/* The files of sets: how they come about, who may share them, what is in the way. */
#include "sets.h"

#include <sys/mount.h>
#include <sys/resource.h>

enum { ADDS = 20000, ERRNO_MARK = 12345 };

static struct percpu_events_options options = {.flags = PERCPU_EVENTS_QUIET};

static int64_t read_one(unsigned entry)
{
	return percpu_events_read_one(&web, entry);
}

/* Opens, counts n, and is gone when it ends; as another program would be. */
static void count_in_it(void *arg)
{
	CHECK_OK(percpu_events_open(&web, &options));
	percpu_event_add(&web, HITS, (uint64_t)(intptr_t)arg);
	percpu_histogram_observe(&web, LATENCY, 100);
}

static void count_in_child(intptr_t n)
{
	CHECK_EQ(test_in_child(count_in_it, (void *)n), 0);
}

static void check_total(int64_t total)
{
	CHECK_OK(percpu_events_open(&web, &options));
	CHECK_EQ(read_one(HITS), total);
	CHECK_OK(percpu_events_close(&web));
}

/* Fails, and counts privately. */
static void check_refused(int error, const char *in_words)
{
	struct percpu_events_info info;

	CHECK_EQ(percpu_events_open(&web, &options), error);
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK(info.open && !info.shared && *info.path == '\0');
	CHECK_EQ(info.error, error);
	if (!strstr(info.why, in_words))
		test_fail(__FILE__, __LINE__, "\"%s\" has no \"%s\"", info.why, in_words);
	percpu_event_inc(&web, HITS);
	percpu_histogram_observe(&web, LATENCY, 100);
	CHECK_EQ(read_one(HITS), 1);
	CHECK_EQ(read_one(LATENCY), 1);
	CHECK_OK(percpu_events_close(&web));
	web.event[HITS].aside = 0;
}

TEST(the_file_is_the_counters)
{
	struct percpu_events_info info;
	struct inside inside;

	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK_STR_EQ(info.path, web_path);
	inside = inside_of(web_path);
	for (int i = 0; i < 10; i++) {
		percpu_event_inc(&web, HITS);
		CHECK_EQ(inside_sum(&inside, segment_metrics(inside.map)[HITS].cell), i + 1);
	}
	CHECK_EQ(inside.header->pid, getpid());
	sets_end();
}

TEST(a_process_that_comes_later_joins)
{
	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	percpu_event_inc(&web, HITS);
	CHECK_OK(percpu_events_close(&web));
	CHECK_OK(percpu_events_open(&web, NULL));
	{
		pid_t child = fork();

		if (child == 0) { /* a set of its own, as far as the library is concerned */
			CHECK_OK(percpu_events_close(&web));
			count_in_it((void *)(intptr_t)41);
			_exit(0);
		}
		CHECK_EQ(test_wait(child), 0);
	}
	CHECK_EQ(read_one(HITS), 42);
	CHECK_EQ(read_one(LATENCY), 1);
	sets_end();
}

static void count_after_fork(void *arg)
{
	(void)arg;
	for (int i = 0; i < ADDS; i++) {
		percpu_event_inc(&web, HITS);
		percpu_histogram_observe(&web, LATENCY, 7);
	}
}

TEST(forked_children_count_into_the_same_cells)
{
	pid_t children[8];
	struct percpu_histogram_sums sums;

	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	for (unsigned i = 0; i < 8; i++)
		children[i] = test_fork(count_after_fork, NULL);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQ(test_wait(children[i]), 0);
	CHECK_EQ(read_one(HITS), 8 * ADDS);
	CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums) > 0);
	CHECK_EQ(sums.count, 8 * ADDS);
	CHECK_EQ(sums.sum, 7 * 8 * ADDS);
	sets_end();
}

TEST(a_restart_goes_on_or_begins_anew_as_asked)
{
	struct inside first, then;

	sets_begin();
	count_in_child(5);
	first = inside_of(web_path);
	count_in_child(2);
	check_total(7);
	then = inside_of(web_path);
	CHECK(first.header->generation == then.header->generation);
	options.flags |= PERCPU_EVENTS_ANEW;
	count_in_child(3);
	then = inside_of(web_path);
	CHECK(first.header->generation != then.header->generation);
	options.flags &= ~PERCPU_EVENTS_ANEW;
	check_total(3);
	sets_end();
}

/* A child that is in the set until its pipe is closed. */
static int others_pipe[2];

static pid_t somebody_else(void)
{
	char byte = 0;
	int ready[2];
	pid_t child;

	CHECK_EQ(pipe(others_pipe), 0);
	CHECK_EQ(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		close(others_pipe[1]);
		CHECK_OK(percpu_events_open(&web, NULL));
		percpu_event_add(&web, HITS, 10);
		CHECK_EQ(write(ready[1], &byte, 1), 1);
		(void)!read(others_pipe[0], &byte, 1);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(others_pipe[0]);
	return child;
}

static void let_go(pid_t child)
{
	close(others_pipe[1]);
	CHECK_EQ(test_wait(child), 0);
}

TEST(anew_joins_those_who_are_there)
{
	pid_t other;

	sets_begin();
	other = somebody_else();
	options.flags |= PERCPU_EVENTS_ANEW;
	check_total(10);
	let_go(other);
	sets_end();
}

TEST(exclusive_is_refused_while_others_are_there)
{
	pid_t other;

	sets_begin();
	other = somebody_else();
	options.flags |= PERCPU_EVENTS_EXCLUSIVE;
	check_refused(-EBUSY, "in use by process");
	let_go(other);
	check_total(10);
	sets_end();
}

TEST(another_declaration_is_refused_while_others_are_there)
{
	pid_t other;

	sets_begin();
	other = somebody_else();
	web.version = "2";
	check_refused(-EEXIST, "another declaration");
	let_go(other);
	check_total(0); /* replaced */
	web.version = "1";
	check_total(0);
	sets_end();
}

TEST(a_file_from_before_the_last_boot_is_replaced)
{
	struct inside inside;

	sets_begin();
	count_in_child(5);
	inside = inside_of(web_path);
	inside.header->boot[0] ^= 1;
	check_total(0);
	sets_end();
}

TEST(instances_have_files_of_their_own)
{
	struct stat st;
	char path[160];

	sets_begin();
	count_in_child(5);
	options.instance = "b";
	options.mode = 0600;
	count_in_child(6);
	snprintf(path, sizeof(path), "%s/web-b.percpu", sets_folder);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0600);
	options.instance = NULL;
	check_total(5);
	CHECK_EQ(stat(web_path, &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0644);
	options.instance = "../b";
	check_refused(-ENAMETOOLONG, "instance");
	sets_end();
}

/* The folder has nothing but the file: no remains. */
static void check_clean(unsigned files)
{
	char command[200], text[16] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", sets_folder);
	pipe = popen(command, "r");
	CHECK(pipe != NULL);
	CHECK(fgets(text, sizeof(text), pipe) != NULL);
	pclose(pipe);
	CHECK_EQ(atoi(text), files);
}

/* ---- What is in the way ---- */

TEST(a_symbolic_link_in_the_way_is_not_followed)
{
	char target[160];

	sets_begin();
	snprintf(target, sizeof(target), "%s/target", sets_folder);
	CHECK_EQ(symlink(target, web_path), 0);
	check_refused(-ELOOP, "symbolic link");
	CHECK(access(target, F_OK) != 0);
	check_clean(1);
	sets_end();
}

TEST(what_is_no_segment_is_refused)
{
	int fd;

	sets_begin();
	CHECK_EQ(mkdir(web_path, 0700), 0);
	check_refused(-EISDIR, "cannot open");
	CHECK_EQ(rmdir(web_path), 0);
	CHECK_EQ(mkfifo(web_path, 0600), 0);
	check_refused(-EPROTO, "no regular file");
	CHECK_EQ(unlink(web_path), 0);
	fd = open(web_path, O_CREAT | O_WRONLY, 0600);
	check_refused(-EPROTO, "shorter");
	CHECK_EQ(ftruncate(fd, 1 << 20), 0);
	check_refused(-EPROTO, "does not begin");
	close(fd);
	sets_end();
}

TEST(a_folder_that_is_not_there_is_told)
{
	struct percpu_events_info info;

	CHECK_EQ(setenv("PERCPU_DIR", "/nonexistent/percpu", 1), 0);
	check_refused(-ENOENT, "/nonexistent/percpu");
	CHECK_EQ(setenv("PERCPU_DIR", "/dev/null", 1), 0);
	check_refused(-ENOTDIR, "no folder");
	sets_begin();
	CHECK_EQ(setenv("PERCPU_DIR", "/nonexistent", 1), 0);
	options.dir = sets_folder;
	CHECK_OK(percpu_events_open(&web, &options));
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK_STR_EQ(info.path, web_path);
	sets_end();
}

static void as_another_user(void *arg)
{
	const char *in_words = arg;

	if (setgid(65534) != 0 || setuid(65534) != 0)
		test_skip("cannot become another user");
	check_refused(-EACCES, in_words);
}

TEST(a_folder_that_is_not_writable_is_told)
{
	if (geteuid() != 0)
		test_skip("not root");
	sets_begin();
	CHECK_EQ(test_in_child(as_another_user, (void *)(uintptr_t) "cannot write"), 0);
	check_clean(0);
	sets_end();
}

TEST(what_belongs_to_another_user_is_refused)
{
	if (geteuid() != 0)
		test_skip("not root");
	sets_begin();
	count_in_child(5);
	CHECK_EQ(chown(web_path, 65534, 65534), 0);
	check_refused(-EPERM, "belongs to another user");
	CHECK_EQ(chown(web_path, 0, 0), 0);
	CHECK_EQ(chown(sets_folder, 65534, 65534), 0);
	check_refused(-EPERM, "belongs to another user");
	CHECK_EQ(chown(sets_folder, 0, 0), 0);
	check_total(5);
	sets_end();
}

/* A file system of its own on the folder, or the test is skipped. */
static void mount_on_folder(unsigned long flags, const char *data)
{
	if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		test_skip("no mount namespaces here: %s", strerror(errno));
	(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (mount("none", sets_folder, "tmpfs", flags, data) != 0)
		test_skip("cannot mount: %s", strerror(errno));
}

TEST(a_full_file_system_is_told_and_left_as_it_was)
{
	sets_begin();
	mount_on_folder(0, "size=16k");
	check_refused(-ENOSPC, "no room");
	check_clean(0);
	CHECK_EQ(umount(sets_folder), 0);
	sets_end();
}

TEST(a_read_only_file_system_is_told)
{
	sets_begin();
	mount_on_folder(MS_RDONLY, "size=64k");
	check_refused(-EROFS, "cannot write");
	CHECK_EQ(umount(sets_folder), 0);
	sets_end();
}

static void below_a_limit(void *arg)
{
	const struct rlimit limit = {4096, 4096};

	(void)arg;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_refused(-EFBIG, "no room");
}

TEST(a_limit_of_file_sizes_is_an_error_and_no_signal)
{
	sets_begin();
	CHECK_EQ(test_in_child(below_a_limit, NULL), 0);
	check_clean(0);
	sets_end();
}

/* Stores what is there already: the first store to a word that is not allocated fails. */
static void touch(const struct inside *inside, uint32_t cell, uint32_t words)
{
	for (uint32_t slot = 0; slot < inside->header->ncpus + inside->header->nshared; slot++)
		for (uint32_t i = 0; i < words; i++) {
			volatile uint64_t *word = inside_cell(inside, cell, slot) + i;

			*word = *word;
		}
}

static void touch_everything(const struct inside *inside)
{
	const struct segment_series *series = segment_series(inside->map);

	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct segment_metric *metric = &segment_metrics(inside->map)[i];
		uint32_t words = metric->nbuckets ? 2 + metric->nbuckets : 1;

		if (metric->nlabels == 0) {
			touch(inside, metric->cell, words);
			touch(inside, metric->downs, 1);
		}
		for (uint32_t k = 0; metric->nlabels && k < metric->nseries; k++) {
			touch(inside, series[metric->first_series + k].cell, words);
			touch(inside, series[metric->first_series + k].downs, 1);
		}
	}
}

/* Afterwards, with no room left, what was not allocated would be a SIGBUS. */
TEST(all_that_counting_touches_is_allocated_by_open)
{
	struct percpu_series series;
	struct inside inside;
	char path[160];
	int fd;

	sets_begin();
	mount_on_folder(0, "size=4m");
	CHECK_OK(percpu_events_open(&web, &options));
	inside = inside_of(web_path);
	snprintf(path, sizeof(path), "%s/filler", sets_folder);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	while (write(fd, descs, 1) == 1)
		CHECK(lseek(fd, 4095, SEEK_CUR) > 0);
	CHECK_EQ(errno, ENOSPC);
	touch_everything(&inside);
	CHECK_OK(percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"GET", "200"}));
	percpu_series_inc(&series);
	count_after_fork(NULL);
	CHECK_EQ(read_one(HITS), ADDS);
	close(fd);
	CHECK_EQ(umount2(sets_folder, MNT_DETACH), 0);
	sets_end();
}

TEST(it_says_once_that_it_counts_privately)
{
	char text[1000] = "";
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t got;

	CHECK_EQ(setenv("PERCPU_DIR", "/nonexistent/percpu", 1), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
	CHECK_EQ(percpu_events_open(&web, NULL), -ENOENT);
	percpu_event_inc(&web, HITS);
	CHECK_EQ(percpu_events_open(&web, NULL), -EALREADY);
	CHECK(dup2(saved, STDERR_FILENO) >= 0);
	close(ends[1]);
	got = read(ends[0], text, sizeof(text) - 1);
	CHECK(got > 0);
	CHECK_STR_EQ(text, "percpu: events \"web\" are counted privately: "
			   "/nonexistent/percpu: No such file or directory\n");
}

TEST(errno_stays_as_it_was)
{
	sets_begin();
	errno = ERRNO_MARK;
	CHECK_OK(percpu_events_open(&web, NULL));
	percpu_event_inc(&web, HITS);
	CHECK_OK(percpu_events_close(&web));
	CHECK_EQ(errno, ERRNO_MARK);
	CHECK_EQ(setenv("PERCPU_DIR", "/nonexistent/percpu", 1), 0);
	CHECK_EQ(percpu_events_open(&web, &options), -ENOENT);
	CHECK_EQ(errno, ERRNO_MARK);
	sets_end();
}

/* The folders, one after the other, where PERCPU_DIR is not set. */
TEST(folders_are_tried_in_their_order)
{
	struct percpu_events_info info;
	char wanted[200];

	sets_begin();
	CHECK_EQ(unsetenv("PERCPU_DIR"), 0);
	CHECK_EQ(setenv("XDG_RUNTIME_DIR", sets_folder, 1), 0);
	if (access("/run/percpu", W_OK) == 0 || access("/run", W_OK) == 0) {
		strcpy(wanted, "/run/percpu/web-order-of-folders.percpu");
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("none", "/run", "tmpfs", 0, NULL) != 0)
			test_skip("cannot mount");
	} else {
		snprintf(wanted, sizeof(wanted), "%s/percpu/web-order-of-folders.percpu",
			 sets_folder);
	}
	options.instance = "order-of-folders";
	CHECK_OK(percpu_events_open(&web, &options));
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK_STR_EQ(info.path, wanted);
	sets_end();
}

TEST_MAIN()

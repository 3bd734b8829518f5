/* SPDX-License-Identifier: MIT */
/* The mode and the reason for it, the fence, the registration's pause, and the self-test. */
#include "threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "faults/faults.h"

static void check_consistent(const struct percpu_mode_info *mode)
{
	CHECK_EQ(mode->cpu_slots, percpu_ncpus());
	CHECK_EQ(mode->cpu_slots + mode->shared_slots, percpu_nslots());
	CHECK(mode->cpu_slots >= mode->cpus_possible || mode->cpu_slots >= 256);
	CHECK(mode->shared_slots >= 16);
	CHECK(mode->shared_slots >= 2 * mode->cpus_online || mode->cpus_online > 128 ||
	      mode->cpus_online > mode->cpus_possible);
	CHECK(mode->cpus_online >= 1);
	CHECK(mode->cpus_allowed >= 1);
	CHECK(mode->reason != NULL && mode->reason[0] != '\0');
	CHECK((mode->owner == PERCPU_OWNER_NONE) == (mode->feature_size == 0));
	if (mode->sequences) {
		CHECK(mode->owner == PERCPU_OWNER_LIBC || mode->owner == PERCPU_OWNER_SELF);
		CHECK(mode->feature_size >= 20);
		CHECK(percpu_cpu_raw() >= 0);
	}
}

static void check_mode_in_thread(unsigned index, void *arg)
{
	const struct percpu_mode_info *of_main = arg;
	struct percpu_mode_info mode = mode_now();

	(void)index;
	check_consistent(&mode);
	CHECK_EQ(mode.owner, of_main->owner);
	CHECK_EQ(mode.cpu_slots, of_main->cpu_slots);
	CHECK_EQ(mode.shared_slots, of_main->shared_slots);
}

TEST(mode_agrees_with_itself_in_every_thread)
{
	struct percpu_mode_info mode = mode_now();

	check_consistent(&mode);
	test_threads(4, check_mode_in_thread, &mode);
	CHECK_EQ(percpu_mode(NULL), -EINVAL);
}

/* "owner sequences fence words of the reason"; '-' for whatever it is. */
PROBE(mode_is)
{
	char owner[16] = "", sequences[4] = "", fence[4] = "";
	struct percpu_mode_info mode;
	int at = 0;

	sscanf(probe_argument, "%15s %3s %3s %n", owner, sequences, fence, &at);
	if (strcmp(owner, "libc") == 0 && !libc_registers())
		test_skip("this libc does not register threads");
	errno = ERRNO_MARK;
	mode = mode_now();
	CHECK_EQ(errno, ERRNO_MARK);
	check_consistent(&mode);
	if (*owner != '-')
		CHECK_STR_EQ(percpu_owner_name(mode.owner), owner);
	if (*sequences != '-')
		CHECK_EQ(mode.sequences, atoi(sequences));
	if (*fence != '-')
		CHECK_EQ(mode.fence, atoi(fence));
	if (!strstr(mode.reason, probe_argument + at))
		test_fail(__FILE__, __LINE__, "reason: %s", mode.reason);
	check_exact_with(3);
}

TEST(field_A1_registration_of_libc_is_used)
{
	need_sequences();
	CHECK_PROBE("mode_is", "libc 1 - libc registered", "PERCPU_RSEQ");
}

TEST(field_A1_library_registers_where_libc_does_not)
{
	need_sequences();
	CHECK_PROBE("mode_is", "self 1 - percpu did", PROBE_NO_LIBC);
}

TEST(field_A2_offset_without_registration_is_none)
{
	need_sequences();
	CHECK_PROBE("mode_is", "none 0 - PERCPU_RSEQ=libc", PROBE_NO_LIBC, "PERCPU_RSEQ=libc");
	CHECK_PROBE("mode_is", "none 0 - PERCPU_RSEQ=off", PROBE_NO_LIBC, "PERCPU_RSEQ=off");
}

TEST(field_N2_environment_forces_a_mode)
{
	need_sequences();
	CHECK_PROBE("mode_is", "- 0 - PERCPU_RSEQ=off", "PERCPU_RSEQ=off");
	CHECK_PROBE("mode_is", "- 1 - ", "PERCPU_RSEQ=nonsense");
	CHECK_PROBE("mode_is", "- 1 - ", "PERCPU_RSEQ=");
	CHECK_PROBE("mode_is", "libc 1 - libc registered", "PERCPU_RSEQ=libc");
	CHECK_PROBE("mode_is", "libc 1 - libc registered", "GLIBC_TUNABLES=glibc.pthread.rseq=1");
}

#if !ARCH_HAVE_SEQ
TEST(build_without_sequences_says_so)
{
	CHECK_PROBE("mode_is", "none 0 - built without sequences", "PERCPU_RSEQ");
}
#endif

static char *registration_fails(int error)
{
	static char text[64];

	snprintf(text, sizeof(text), "PERCPU_TEST_FAULTS=%d 1 %u %d", FAULT_RSEQ, FAULT_ALWAYS,
		 error);
	return text;
}

/* Sandboxes and emulators say no in many ways; the outcome is the same. */
TEST(field_C11_refused_registration_means_shared_slots_whatever_the_errno)
{
	if (!ARCH_HAVE_SEQ)
		test_skip("built without sequences");
	CHECK_PROBE("mode_is", "none 0 - ENOSYS", PROBE_NO_LIBC, registration_fails(ENOSYS));
	CHECK_PROBE("mode_is", "none 0 - EPERM", PROBE_NO_LIBC, registration_fails(EPERM));
	CHECK_PROBE("mode_is", "none 0 - refused", PROBE_NO_LIBC, registration_fails(EFAULT));
	CHECK_PROBE("mode_is", "none 0 - EPERM", PROBE_NO_LIBC, registration_fails(EACCES));
	CHECK_PROBE("mode_is", "other 0 - another library", PROBE_NO_LIBC,
		    registration_fails(EINVAL));
	CHECK_PROBE("mode_is", "other 0 - another library", PROBE_NO_LIBC,
		    registration_fails(EBUSY));
}

TEST(field_C2_missing_fence_is_reported_and_sums_stay_exact)
{
	char faults[64];

	snprintf(faults, sizeof(faults), "PERCPU_TEST_FAULTS=%d 1 %u %d", FAULT_MEMBARRIER,
		 FAULT_ALWAYS, ENOSYS);
	CHECK_PROBE("mode_is", "- - 0 ", faults);
	CHECK_PROBE("mode_is", "- - 0 ", PROBE_NO_LIBC, faults);
	snprintf(faults, sizeof(faults), "PERCPU_TEST_FAULTS=%d 1 %u %d", FAULT_MEMBARRIER,
		 FAULT_ALWAYS, EPERM);
	CHECK_PROBE("mode_is", "- - 0 ", faults);
}

/* The mapping or the advice of the start refused: the library does without. */
TEST(start_without_memory_is_survived)
{
	const int calls[] = {FAULT_MMAP, FAULT_MADVISE};
	char faults[64];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(faults, sizeof(faults), "PERCPU_TEST_FAULTS=%d 1 1 %d", calls[i], ENOMEM);
		CHECK_PROBE("mode_is", "- - - ", faults);
		CHECK_PROBE("mode_is", "- - - ", faults, "PERCPU_RSEQ=off");
	}
}

/* "slots possible": '-' for what the machine has. */
PROBE(slots_are)
{
	struct percpu_mode_info mode = mode_now();
	unsigned slots;

	CHECK_EQ(sscanf(probe_argument, "%u", &slots), 1);
	if (slots > 256 && sizeof(void *) == 4)
		slots = 256;
	CHECK_EQ(mode.cpu_slots, slots < mode.cpus_possible ? mode.cpus_possible : slots);
	check_consistent(&mode);
	check_exact_with(2);
}

TEST(field_D2_environment_raises_the_number_of_cpu_slots)
{
	CHECK_PROBE("slots_are", "64", "PERCPU_CPUS=64");
	CHECK_PROBE("slots_are", "1024", "PERCPU_CPUS=1024");
	CHECK_PROBE("slots_are", "1", "PERCPU_CPUS=1");
	CHECK_PROBE("slots_are", "0", "PERCPU_CPUS=0");
	CHECK_PROBE("slots_are", "0", "PERCPU_CPUS=");
	CHECK_PROBE("slots_are", "0", "PERCPU_CPUS=many");
	CHECK_PROBE("slots_are", "8192", "PERCPU_CPUS=8193");
	CHECK_PROBE("slots_are", "8192", "PERCPU_CPUS=99999999999999999999");
}

/* A sysfs that knows fewer CPUs than there are. */
static void with_possible(const char *list, const char *probe, const char *argument)
{
	char dir[] = "/tmp/percpu-thread-XXXXXX";
	char path[64], setting[64];
	int status;
	FILE *file;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/possible", dir);
	file = fopen(path, "w");
	CHECK(file != NULL);
	fputs(list, file);
	fclose(file);
	snprintf(setting, sizeof(setting), "PERCPU_TEST_SYSFS=%s", dir);
	status = test_probe(probe, argument, setting);
	unlink(path);
	rmdir(dir);
	if (status == TEST_SKIPPED)
		test_skip("a probe was skipped");
	CHECK_EQ(status, TEST_PASSED);
}

static void go_to(unsigned cpu)
{
	int error = test_pin(cpu);

	if (error)
		test_skip("no CPU %u for this process", cpu);
}

PROBE(only_cpu_0_is_announced)
{
	struct percpu_mode_info mode;

	CHECK_EQ(percpu_ncpus(), 1);
	check_exact_with(4);
	go_to(1);
	mode = mode_now();
	if (mode.owner == PERCPU_OWNER_LIBC || mode.owner == PERCPU_OWNER_SELF) {
		CHECK_EQ(mode.sequences, 0);
		CHECK(strstr(mode.reason, "beyond") != NULL);
	}
	CHECK(percpu_cpu() >= 0);
	add_some(0, NULL);
	check_some(6);
}

PROBE(slots_reach_to_the_highest_cpu)
{
	CHECK_EQ(percpu_ncpus(), 8);
	check_exact_with(4);
}

TEST(field_D1_cpu_beyond_the_announced_ones_is_survived)
{
	with_possible("0\n", "only_cpu_0_is_announced", "");
}

TEST(field_D1_sparse_cpu_ids)
{
	with_possible("0,3-7\n", "slots_reach_to_the_highest_cpu", "");
}

PROBE(prints_its_mode)
{
	CHECK_OK(percpu_fence() == -ENOSYS ? 0 : percpu_fence());
}

/* What the probe writes to standard error at its start and end. */
static size_t output_of_probe(const char *setting, char *text, size_t size)
{
	const char *const settings[] = {setting, NULL};
	size_t length = 0;
	ssize_t got;
	int ends[2];
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		probe__exec("prints_its_mode", "", settings);
	}
	close(ends[1]);
	while (length < size - 1 && (got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	CHECK_EQ(test_wait(child), TEST_PASSED);
	return length;
}

TEST(field_A9_verbose_environment_prints_one_line)
{
	char text[1024];
	size_t length;

	CHECK_EQ(output_of_probe("PERCPU_VERBOSE", text, sizeof(text)), 0);
	CHECK_EQ(output_of_probe("PERCPU_VERBOSE=0", text, sizeof(text)), 0);
	CHECK_EQ(output_of_probe("PERCPU_VERBOSE=", text, sizeof(text)), 0);
	length = output_of_probe("PERCPU_VERBOSE=1", text, sizeof(text));
	CHECK(length > 0);
	CHECK(strncmp(text, "percpu: ", 8) == 0);
	CHECK(strchr(text, '\n') == text + length - 1);
}

static void copy_this_program(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char block[4096];
	ssize_t n;

	CHECK(from >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		CHECK_EQ(write(to, block, (size_t)n), n);
	CHECK_EQ(n, 0);
	close(from);
}

/* A copy of this program that belongs to somebody else, and runs with his rights. */
static void make_set_user_id(char *path)
{
	struct stat status;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	copy_this_program(fd);
	close(fd);
	if (chown(path, 65534, 65534) != 0 || chmod(path, 04755) != 0 || stat(path, &status) != 0 ||
	    !(status.st_mode & S_ISUID)) {
		unlink(path);
		test_skip("no set-user-ID programs here");
	}
}

PROBE(environment_is_ignored)
{
	struct percpu_mode_info mode = mode_now();

	if (!getauxval(AT_SECURE))
		test_skip("set-user-ID is without effect here");
	CHECK(mode.cpu_slots == mode.cpus_possible);
	CHECK(strstr(mode.reason, "PERCPU_RSEQ") == NULL);
	/* Without what sanitizers do at an exit and may not do here. */
	_exit(TEST_PASSED);
}

TEST(field_N2_set_user_id_program_ignores_the_environment)
{
	char path[] = "/tmp/percpu-secure-XXXXXX";
	pid_t child;
	int status;

	if (geteuid() != 0)
		test_skip("needs root");
	make_set_user_id(path);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setenv("PERCPU_RSEQ", "off", 1);
		setenv("PERCPU_CPUS", "77", 1);
		execl(path, path, "--probe", "environment_is_ignored", "", (char *)NULL);
		_exit(TEST_SKIPPED);
	}
	status = test_wait(child);
	unlink(path);
	if (status == TEST_SKIPPED)
		test_skip("set-user-ID is without effect here");
	CHECK_EQ(status, TEST_PASSED);
}

/* Three programs in a row, each in another mode: nothing of the last one is left. */
PROBE(is_one_of_a_chain)
{
	static const char *const no_libc[] = {PROBE_NO_LIBC, NULL};
	static const char *const off[] = {"PERCPU_RSEQ=off", NULL};
	static const char *const plain[] = {NULL};
	struct percpu_mode_info mode = mode_now();

	check_exact_with(1);
	switch (probe_argument[0]) {
	case '1':
		CHECK(mode.sequences);
		probe__exec("is_one_of_a_chain", "2", no_libc);
		break;
	case '2':
		CHECK_EQ(mode.owner, PERCPU_OWNER_SELF);
		probe__exec("is_one_of_a_chain", "3", off);
		break;
	case '3':
		CHECK(!mode.sequences);
		probe__exec("is_one_of_a_chain", "4", plain);
		break;
	default:
		CHECK(mode.sequences);
		break;
	}
}

TEST(field_E6_nothing_is_inherited_over_exec)
{
	need_sequences();
	CHECK_PROBE("is_one_of_a_chain", "1", "PERCPU_RSEQ");
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	CHECK(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

PROBE(has_three_descriptors)
{
	CHECK_EQ(descriptors(), atoi(probe_argument));
	check_exact_with(3);
	CHECK_EQ(percpu_self_test(NULL, 0) == -EINVAL, 0);
	CHECK_EQ(descriptors(), atoi(probe_argument));
}

TEST(field_D12_start_leaves_no_descriptor_open)
{
	char count[16];

	snprintf(count, sizeof(count), "%d", descriptors());
	CHECK_PROBE("has_three_descriptors", count, "PERCPU_RSEQ");
	CHECK_PROBE("has_three_descriptors", count, PROBE_NO_LIBC);
	CHECK_PROBE("has_three_descriptors", count, "PERCPU_RSEQ=off");
}

static void need_fence(void)
{
	if (!mode_now().fence)
		test_skip("no fence in this kernel or sandbox");
}

/* k-th call refused: registered once more and repeated. */
TEST(field_I5_fence_that_lost_its_registration_is_registered_again)
{
	need_fence();
	for (unsigned k = 1; k <= 5; k++) {
		fault_arm(FAULT_MEMBARRIER, k, 1, EPERM);
		for (unsigned call = 1; call <= 5; call++) {
			errno = ERRNO_MARK;
			/* The call after the refused one is the registration. */
			CHECK_OK(percpu_fence());
			CHECK_EQ(errno, ERRNO_MARK);
		}
		CHECK_EQ(fault_calls(FAULT_MEMBARRIER), 7);
	}
	fault_clear();
}

TEST(field_I5_fence_that_stays_refused_says_so_and_recovers)
{
	static const int errors[] = {EPERM, ENOSYS, EINVAL, ENOMEM};

	need_fence();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, errors[i]);
		errno = ERRNO_MARK;
		CHECK_EQ(percpu_fence(), -EPERM);
		CHECK_EQ(errno, ERRNO_MARK);
		/* Registered, but the fence itself is refused again. */
		fault_arm(FAULT_MEMBARRIER, 1, 2, errors[i]);
		CHECK_EQ(percpu_fence(), -EPERM);
		fault_clear();
		CHECK_OK(percpu_fence());
	}
}

PROBE(has_no_fence)
{
	errno = ERRNO_MARK;
	CHECK_EQ(percpu_fence(), -ENOSYS);
	CHECK_EQ(errno, ERRNO_MARK);
	CHECK_EQ(mode_now().fence, 0);
}

TEST(field_C2_fence_that_is_missing_says_so)
{
	char faults[64];

	snprintf(faults, sizeof(faults), "PERCPU_TEST_FAULTS=%d 1 1 %d", FAULT_MEMBARRIER, ENOSYS);
	CHECK_PROBE("has_no_fence", "", faults);
}

static void first_calls_keep_errno(unsigned index, void *arg)
{
	static PERCPU_COUNTER(first);
	struct percpu_mode_info mode;

	(void)arg;
	errno = ERRNO_MARK;
	switch (index % 6) {
	case 0:
		percpu_counter_inc(&first);
		break;
	case 1:
		(void)percpu_cpu();
		break;
	case 2:
		percpu_this_inc(word);
		break;
	case 3:
		(void)percpu_mode(&mode);
		break;
	case 4:
		(void)percpu_vfork_begin();
		(void)percpu_vfork_end();
		break;
	default:
		(void)percpu_this_cmpxchg(word, 0u, 1u);
		break;
	}
	CHECK_EQ(errno, ERRNO_MARK);
}

PROBE(keeps_errno)
{
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	for (int i = 0; i < 4; i++)
		test_threads(6, first_calls_keep_errno, NULL);
}

TEST(slow_calls_keep_errno)
{
	CHECK_PROBE("keeps_errno", "", "PERCPU_RSEQ");
	CHECK_PROBE("keeps_errno", "", PROBE_NO_LIBC);
	CHECK_PROBE("keeps_errno", "", PROBE_NO_LIBC, registration_fails(ENOSYS));
	CHECK_PROBE("keeps_errno", "", "PERCPU_RSEQ=off");
}

TEST(vfork_begin_takes_the_registration_away_and_end_gives_it_back)
{
	struct percpu_mode_info before = mode_now(), between, after;

	word = percpu_new(uint32_t);
	for (int i = 0; i < 3; i++) {
		errno = ERRNO_MARK;
		CHECK_OK(percpu_vfork_begin());
		between = mode_now();
		CHECK_EQ(between.sequences, 0);
		CHECK_EQ(between.owner, PERCPU_OWNER_NONE);
		CHECK(percpu_cpu_raw() < 0);
		CHECK(percpu_cpu() >= 0);
		if (before.sequences) {
			CHECK(strstr(between.reason, "vfork") != NULL);
			CHECK_EQ(percpu_vfork_begin(), -EBUSY);
		}
		add_some(0, NULL);
		CHECK_OK(percpu_vfork_end());
		CHECK_EQ(errno, ERRNO_MARK);
		after = mode_now();
		CHECK_EQ(after.sequences, before.sequences);
		CHECK_EQ(after.owner, before.owner);
		add_some(0, NULL);
	}
	check_some(6);
	/* Without a begin there is nothing to give back. */
	CHECK_OK(percpu_vfork_end());
	CHECK_EQ(mode_now().sequences, before.sequences);
}

TEST(vfork_begin_that_fails_changes_nothing)
{
	need_sequences();
	if (!mode_now().sequences)
		test_skip("not registered here");
	fault_arm(FAULT_RSEQ, 1, FAULT_ALWAYS, EPERM);
	CHECK_EQ(percpu_vfork_begin(), -EPERM);
	CHECK(mode_now().sequences);
	fault_clear();
	CHECK_OK(percpu_vfork_begin());
	CHECK(!mode_now().sequences);
	/* The way back is barred: shared slots from now on, and the caller knows. */
	fault_arm(FAULT_RSEQ, 1, FAULT_ALWAYS, ENOSYS);
	CHECK_EQ(percpu_vfork_end(), -ENOSYS);
	CHECK(!mode_now().sequences);
	check_exact_with(0);
}

TEST(field_I1_self_test_finds_that_aborts_work)
{
	char why[128] = "";
	struct percpu_usage_info before, after;
	cpu_set_t mask, mask_after;
	int result;

	CHECK_EQ(percpu_self_test(NULL, 1), -EINVAL);
	CHECK_OK(percpu_usage(&before));
	CHECK_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
	result = percpu_self_test(why, sizeof(why));
	CHECK(why[0] != '\0' && strlen(why) < sizeof(why));
	if (mode_now().sequences)
		CHECK(result == 0 || result == -EAGAIN);
	else
		CHECK_EQ(result, -ENOTSUP);
	CHECK_OK(percpu_usage(&after));
	CHECK_EQ(after.allocated, before.allocated);
	CHECK_EQ(sched_getaffinity(0, sizeof(mask_after), &mask_after), 0);
	CHECK(CPU_EQUAL(&mask, &mask_after));
	/* A finding without room for words, and one that is cut short. */
	CHECK(percpu_self_test(NULL, 0) != 1);
	memset(why, 'x', sizeof(why));
	CHECK(percpu_self_test(why, 4) != 1);
	CHECK_EQ(why[3], '\0');
	CHECK_EQ(why[4], 'x');
}

/* Without address space there is no stack for the second thread. */
TEST(self_test_that_gets_no_thread_keeps_errno)
{
	const struct rlimit none = {0, 0};
	void *object = percpu_new(uint32_t);
	int result;

#if defined(TEST_SANITIZED)
	test_skip("sanitizers need memory of their own");
#endif
	CHECK(object != NULL);
	CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
	errno = ERRNO_MARK;
	result = percpu_self_test(NULL, 0);
	CHECK_EQ(errno, ERRNO_MARK);
	CHECK(result != 1);
	CHECK_OK(percpu_free(object));
}

/* The mask is looked at again afterwards: others may change it at any time (D8). */
TEST(cpu_is_the_one_the_thread_is_pinned_to)
{
	cpu_set_t all, now;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int found;

		if (!CPU_ISSET(cpu, &all) || test_pin(cpu) != 0)
			continue;
		found = percpu_cpu();
		CHECK(found >= 0);
		CHECK_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
		if (CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now))
			CHECK_EQ(found, cpu);
	}
}

TEST(owners_have_names)
{
	CHECK_STR_EQ(percpu_owner_name(PERCPU_OWNER_NONE), "none");
	CHECK_STR_EQ(percpu_owner_name(PERCPU_OWNER_LIBC), "libc");
	CHECK_STR_EQ(percpu_owner_name(PERCPU_OWNER_SELF), "self");
	CHECK_STR_EQ(percpu_owner_name(PERCPU_OWNER_OTHER), "other");
	CHECK_STR_EQ(percpu_owner_name((enum percpu_owner)99), "unknown");
	CHECK_STR_EQ(percpu_owner_name((enum percpu_owner) - 1), "unknown");
}

PROBE_MAIN()

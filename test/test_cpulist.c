/* SPDX-License-Identifier: MIT */
/* How many CPUs there can be: the parser of the kernel's lists, and what to do without them. */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "faults/faults.h"
#include "internal.h"

/* A folder with what the test wants the kernel to say, in place of /sys/devices/system/cpu. */
static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/percpu-cpulist-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	fault_sysfs(folder);
}

static void in_folder(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", folder, name);
}

static void add_file(const char *name, const char *text, size_t length)
{
	char path[128];
	int fd;

	in_folder(name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, length), length);
	close(fd);
}

static void add_folder(const char *name)
{
	char path[128];

	in_folder(name, path, sizeof(path));
	CHECK_EQ(mkdir(path, 0700), 0);
}

static void remove_folder(void)
{
	DIR *dir;
	struct dirent *entry;
	char path[512];

	fault_clear();
	dir = opendir(folder);
	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (unlink(path) != 0)
			CHECK_EQ(rmdir(path), 0);
	}
	closedir(dir);
	CHECK_EQ(rmdir(folder), 0);
}

/* On the heap and without an end mark, so that AddressSanitizer sees a read beyond it. */
static void check_list(const char *text, size_t length, int highest, int count)
{
	char *copy = malloc(length ? length : 1);

	CHECK(copy != NULL);
	memcpy(copy, text, length);
	if (percpu__cpulist_max(copy, length) != highest ||
	    percpu__cpulist_count(copy, length) != count)
		test_fail(__FILE__, __LINE__, "\"%.*s\": highest %d, count %d, expected %d, %d",
			  (int)length, text, percpu__cpulist_max(copy, length),
			  percpu__cpulist_count(copy, length), highest, count);
	CHECK(true);
	free(copy);
}

static void check_text(const char *text, int highest, int count)
{
	check_list(text, strlen(text), highest, count);
}

TEST(field_D3_list_gives_its_highest_number)
{
	check_text("0\n", 0, 1);
	check_text("0", 0, 1);
	check_text("0-3\n", 3, 4);
	check_text("0-3", 3, 4);
	check_text("0,3-7\n", 7, 6);
	check_text("3-7,0", 7, 6);
	check_text("5,1", 5, 2);
	check_text("0-63,128-191\n", 191, 128);
	check_text("7-7", 7, 1);
	check_text("00,007", 7, 2);
	check_text("0-1048575\n", 1048575, 1048576);
	check_text("1048575", 1048575, 1);
	/* The first line counts. */
	check_text("0-3\n9\n", 3, 4);
}

TEST(field_D12_broken_list_is_refused)
{
	static const char *const broken[] = {
		"",
		"\n",
		"0-",
		"0-\n",
		"-1",
		"-",
		",",
		",0",
		"0,",
		"0,\n",
		"0,,1",
		"3-1",
		"0--3",
		"0-3-5",
		" 0",
		"0 ",
		"0 \n",
		"0, 1",
		"a",
		"0x1",
		"1a",
		"0-3a",
		"+1",
		"0;1",
		"0\t",
		"0-3,",
		"0\r\n",
		"1048576",
		"0-1048576",
		"none",
		"*",
		"\0330",
		"4294967296",
		"2147483648",
		"18446744073709551616",
		"99999999999999999999999999",
		"0-4294967295",
		"0-18446744073709551615",
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		check_text(broken[i], -EINVAL, -EINVAL);
	check_list("0\0", 2, -EINVAL, -EINVAL);
	check_list("\0", 1, -EINVAL, -EINVAL);
	check_list("\377", 1, -EINVAL, -EINVAL);
}

TEST(list_ends_where_its_length_says)
{
	check_list("12", 1, 1, 1);
	check_list("0-34", 3, 3, 4);
	check_list("0-3,9", 3, 3, 4);
	check_list("0-3,9", 4, -EINVAL, -EINVAL);
	check_list("0-3", 0, -EINVAL, -EINVAL);
}

TEST(random_list_agrees_with_a_model)
{
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		char text[512];
		int length = 0, highest = -1, count = 0;
		int ranges = 1 + rand_r(&seed) % 12;

		for (int i = 0; i < ranges; i++) {
			int first = rand_r(&seed) % 5000;
			int last = first + (rand_r(&seed) % 3 ? rand_r(&seed) % 100 : 0);
			bool dash = last != first || rand_r(&seed) % 8 == 0;

			length += sprintf(text + length, dash ? "%s%d-%d" : "%s%d", i ? "," : "",
					  first, last);
			highest = last > highest ? last : highest;
			count += last - first + 1;
		}
		if (rand_r(&seed) % 2)
			text[length++] = '\n';
		check_list(text, (size_t)length, highest, count);
	}
}

/* Any bytes: an answer in the parser's range, and no read beyond the end. */
TEST(garbage_is_answered)
{
	static const char letters[] = "0123456789,-\n x";
	unsigned seed = 2;

	for (int round = 0; round < 200000; round++) {
		size_t length = (size_t)(rand_r(&seed) % 12);
		char *text = malloc(length + 1);
		int highest, count;

		CHECK(text != NULL);
		for (size_t i = 0; i < length; i++)
			text[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		text = realloc(text, length ? length : 1);
		highest = percpu__cpulist_max(text, length);
		count = percpu__cpulist_count(text, length);
		CHECK(highest == -EINVAL || (highest >= 0 && highest < 1048576));
		CHECK((highest == -EINVAL) == (count == -EINVAL));
		CHECK(count == -EINVAL || count > 0);
		free(text);
	}
}

static void check_possible(const char *text, unsigned expected)
{
	add_file("possible", text, strlen(text));
	CHECK_EQ(percpu__cpus_possible(), expected);
}

TEST(possible_cpus_are_one_more_than_the_highest)
{
	make_folder();
	check_possible("0\n", 1);
	check_possible("0-3\n", 4);
	check_possible("0,3-7\n", 8);
	check_possible("0-1023", 1024);
	remove_folder();
}

/* 8 KiB: the longest list that fits, and one that does not. */
TEST(field_D3_long_list_is_read_or_refused_whole)
{
	static char text[9000];
	size_t length = 0;
	int number = 0;

	make_folder();
	add_folder("cpu11");
	while (length < 8150) {
		length += (size_t)sprintf(text + length, "%s%d-%d", number ? "," : "", number,
					  number + 1);
		number += 3;
	}
	add_file("possible", text, length);
	CHECK_EQ(percpu__cpus_possible(), number - 1);
	/* As long as the buffer, with and without its newline. */
	length = (size_t)sprintf(text, "35000");
	while (length < sizeof(text) - 1)
		length += (size_t)sprintf(text + length, ",0");
	text[8191] = '\n';
	add_file("possible", text, 8192);
	CHECK_EQ(percpu__cpus_possible(), 35001);
	text[8191] = ',';
	add_file("possible", text, 8192);
	CHECK_EQ(percpu__cpus_possible(), 12);
	text[8691] = '\n';
	add_file("possible", text, 8692);
	CHECK_EQ(percpu__cpus_possible(), 12);
	remove_folder();
}

TEST(field_D12_interrupted_read_in_pieces_is_resumed)
{
	make_folder();
	add_file("possible", "0-3,17,21-1023\n", 15);
	add_file("online", "0,2-4\n", 6);
	fault_read_byte_by_byte(1);
	CHECK_EQ(percpu__cpus_possible(), 1024);
	CHECK(fault_calls(FAULT_READ) >= 30);
	CHECK_EQ(percpu__cpus_online(), 4);
	remove_folder();
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

TEST(field_D12_no_descriptor_is_left_open)
{
	int before = descriptors();
	static char zeros[10000];

	make_folder();
	add_folder("cpu2");
	check_possible("0-3\n", 4);
	check_possible("garbage\n", 3);
	check_possible("", 3);
	memset(zeros, '0', sizeof(zeros));
	add_file("possible", zeros, sizeof(zeros));
	CHECK_EQ(percpu__cpus_possible(), 3);
	for (unsigned call = 1; call <= 3; call++) {
		add_file("possible", "0-3", 3);
		fault_read_byte_by_byte(1);
		fault_arm(FAULT_READ, call, 1, EIO);
		(void)percpu__cpus_possible();
		CHECK(fault_calls(FAULT_READ) >= call);
		(void)percpu__cpus_online();
	}
	fault_read_byte_by_byte(0);
	fault_arm(FAULT_OPENDIR, 1, FAULT_ALWAYS, EMFILE);
	(void)percpu__cpus_possible();
	remove_folder();
	CHECK_EQ(descriptors(), before);
}

/* Half a list would be a wrong number: an error anywhere in it sends to the next source. */
TEST(read_that_fails_half_way_gives_nothing)
{
	make_folder();
	add_folder("cpu6");
	add_file("possible", "0-15\n", 5);
	fault_read_byte_by_byte(1);
	for (unsigned call = 1; call <= 10; call++) {
		fault_arm(FAULT_READ, call, 1, EIO);
		CHECK_EQ(percpu__cpus_possible(), 7);
	}
	remove_folder();
}

TEST(field_D3_without_a_list_the_highest_folder_counts)
{
	make_folder();
	add_folder("cpu0");
	add_folder("cpu10");
	add_folder("cpu9");
	add_folder("cpufreq");
	add_folder("cpuidle");
	add_folder("cpu11x");
	add_folder("cpu");
	add_folder("cp99");
	add_folder("xcpu98");
	CHECK_EQ(percpu__cpus_possible(), 11);
	check_possible("4294967296\n", 11);
	check_possible("", 11);
	check_possible("0-\n", 11);
	fault_arm(FAULT_OPEN, 1, FAULT_ALWAYS, EACCES);
	CHECK_EQ(percpu__cpus_possible(), 11);
	remove_folder();
}

TEST(field_C7_without_any_file_libc_is_asked_and_not_trusted_alone)
{
	fault_arm(FAULT_OPEN, 1, FAULT_ALWAYS, ENOENT);
	fault_arm(FAULT_OPENDIR, 1, FAULT_ALWAYS, ENOENT);
	fault_sysconf_answers(2);
	CHECK_EQ(percpu__cpus_possible(), 256);
	fault_sysconf_answers(300);
	CHECK_EQ(percpu__cpus_possible(), 300);
	fault_sysconf_answers(0);
	fault_arm(FAULT_SYSCONF, 1, FAULT_ALWAYS, EINVAL);
	CHECK_EQ(percpu__cpus_possible(), 256);
	fault_clear();
}

static void pin_to_one(void)
{
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set)) {
			CHECK_OK(test_pin(cpu));
			return;
		}
}

/* The kernel's mask is checked around the call: somebody else may change it at any time (D8). */
static void check_allowed(void)
{
	cpu_set_t before, after;

	do {
		unsigned allowed;

		CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
		allowed = percpu__cpus_allowed();
		CHECK_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
		if (CPU_EQUAL(&before, &after))
			CHECK_EQ(allowed, CPU_COUNT(&after));
	} while (!CPU_EQUAL(&before, &after));
}

TEST(field_D4_affinity_changes_what_is_allowed_and_not_what_is_possible)
{
	unsigned possible = percpu__cpus_possible();
	unsigned online = percpu__cpus_online();

	check_allowed();
	pin_to_one();
	check_allowed();
	CHECK_EQ(percpu__cpus_possible(), possible);
	CHECK_EQ(percpu__cpus_online(), online);
}

TEST(online_cpus_are_counted_and_never_none)
{
	make_folder();
	add_file("online", "0-3,8\n", 6);
	CHECK_EQ(percpu__cpus_online(), 5);
	add_file("online", "\n", 1);
	pin_to_one();
	CHECK_EQ(percpu__cpus_online(), 1);
	fault_arm(FAULT_AFFINITY, 1, FAULT_ALWAYS, ENOSYS);
	CHECK_EQ(percpu__cpus_allowed(), 0);
	CHECK_EQ(percpu__cpus_online(), 1);
	remove_folder();
}

TEST(list_of_this_machine_is_understood)
{
	struct stat status;

	if (stat("/sys/devices/system/cpu/possible", &status) != 0)
		test_skip("no sysfs");
	fault_arm(FAULT_OPENDIR, 1, FAULT_ALWAYS, ENOENT);
	(void)percpu__cpus_possible();
	CHECK_EQ(fault_calls(FAULT_OPENDIR), 0);
	CHECK(percpu__cpus_online() >= 1);
	CHECK(percpu__cpus_online() <= percpu__cpus_possible());
}

TEST_MAIN()

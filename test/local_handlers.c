/* SPDX-License-Identifier: MIT */
/*
 * Handlers that are installed with percpu_sigaction(): as sigaction(2) has them, and put off while
 * a soft mask is held or two of them are running.
 */
#include "test.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "sanitizers.h"

#include <percpu/percpu.h>

/* ThreadSanitizer calls handlers itself, at times of its own, with a context that is a copy. */
static void needs_real_signals(void)
{
	if (THREAD_SANITIZER)
		test_skip("ThreadSanitizer runs handlers when it likes");
}

/* ---- A diary: what handlers did, in order ---- */

enum { ENTRIES = 4096 };

static volatile int diary[ENTRIES];
static volatile int entries;

static void note(int what)
{
	CHECK(entries < ENTRIES);
	diary[entries] = what;
	entries = entries + 1;
}

static void expect_diary(const int *expected, int count)
{
	CHECK_EQ(entries, count);
	for (int i = 0; i < count; i++)
		CHECK_EQ(diary[i], expected[i]);
	entries = 0;
}

#define EXPECT(...)                                                                                \
	do {                                                                                       \
		const int expected_[] = {__VA_ARGS__};                                             \
		expect_diary(expected_, (int)(sizeof(expected_) / sizeof(expected_[0])));          \
	} while (0)
#define EXPECT_NOTHING() expect_diary(NULL, 0)

static void note_signal(int sig)
{
	note(sig);
}

static void note_value(int sig, siginfo_t *info, void *context)
{
	CHECK_EQ(info->si_signo, sig);
	CHECK(context != NULL);
	note(info->si_value.sival_int);
}

static struct sigaction plain_action(void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	return action;
}

static struct sigaction info_action(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = flags | SA_SIGINFO;
	return action;
}

static void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = plain_action(handler, flags);

	CHECK_OK(percpu_sigaction(sig, &action, NULL));
}

static void queue_value(int sig, int value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig, &info), 0);
}

static bool is_blocked(int sig)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig) == 1;
}

static void block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

/* ---- As with sigaction(2) ---- */

TEST(handlers_get_what_sigaction_gives_them)
{
	struct sigaction action = info_action(note_value, 0);

	install(SIGUSR1, note_signal, 0);
	raise(SIGUSR1);
	CHECK_OK(percpu_sigaction(SIGRTMIN, &action, NULL));
	queue_value(SIGRTMIN, 77);
	CHECK_OK(percpu_sigaction(SIGRTMAX, &action, NULL));
	queue_value(SIGRTMAX, 78);
	EXPECT(SIGUSR1, 77, 78);
}

TEST(old_handlers_come_back_as_they_were_installed)
{
	struct sigaction first = plain_action(note_signal, SA_RESTART);
	struct sigaction second = info_action(note_value, SA_NODEFER | SA_ONSTACK);
	struct sigaction third = plain_action(note_signal, (int)SA_RESETHAND);
	struct sigaction old;

	sigaddset(&first.sa_mask, SIGUSR2);
	sigaddset(&second.sa_mask, SIGHUP);
	CHECK_EQ(sigaction(SIGUSR1, &first, NULL), 0);
	CHECK_OK(percpu_sigaction(SIGUSR1, &second, &old));
	CHECK(old.sa_handler == note_signal && !(old.sa_flags & SA_SIGINFO));
	CHECK(old.sa_flags & SA_RESTART);
	CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1 && sigismember(&old.sa_mask, SIGHUP) == 0);
	CHECK_OK(percpu_sigaction(SIGUSR1, &third, &old));
	CHECK(old.sa_sigaction == note_value);
	CHECK_EQ(old.sa_flags & (SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART),
		 SA_SIGINFO | SA_NODEFER | SA_ONSTACK);
	CHECK(sigismember(&old.sa_mask, SIGHUP) == 1 && sigismember(&old.sa_mask, SIGUSR2) == 0);
	CHECK_OK(percpu_sigaction(SIGUSR1, NULL, &old));
	CHECK(old.sa_handler == note_signal && (old.sa_flags & (int)SA_RESETHAND));
	CHECK_OK(percpu_sigaction(SIGUSR1, &old, &second));
	CHECK(second.sa_handler == note_signal);
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
}

TEST(an_old_handler_of_sigaction_can_be_given_back)
{
	struct sigaction old;

	needs_real_signals();
	install(SIGUSR1, note_signal, 0);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &old), 0);
	CHECK_OK(percpu_sigaction(SIGUSR1, &old, NULL));
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
	CHECK_EQ(sigaction(SIGUSR1, &old, NULL), 0);
	percpu_soft_mask();
	raise(SIGUSR1);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
}

static void die_by_default(void *arg)
{
	struct sigaction action = plain_action(SIG_DFL, 0);

	install(SIGUSR1, note_signal, 0);
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, NULL));
	(void)arg;
	raise(SIGUSR1);
}

TEST(default_and_ignore_pass_through)
{
	struct sigaction action = plain_action(SIG_IGN, 0), old;

	CHECK_EQ(test_in_child(die_by_default, NULL), -SIGUSR1);
	install(SIGUSR2, note_signal, 0);
	CHECK_OK(percpu_sigaction(SIGUSR2, &action, &old));
	CHECK(old.sa_handler == note_signal);
	raise(SIGUSR2);
	CHECK_EQ(sigaction(SIGUSR2, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_IGN);
	CHECK_OK(percpu_sigaction(SIGUSR2, NULL, &old));
	CHECK(old.sa_handler == SIG_IGN);
	EXPECT_NOTHING();
}

TEST(bad_signals_are_refused_and_change_nothing)
{
	static const int bad[] = {INT32_MIN, -1, 0, SIGKILL, SIGSTOP, 32, 33, 65, 128, INT32_MAX};
	struct sigaction action = plain_action(note_signal, 0), old;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = E2BIG;
		CHECK_EQ(percpu_sigaction(bad[i], &action, NULL), -EINVAL);
		CHECK_EQ(percpu_sigaction(bad[i], &action, &old), -EINVAL);
		CHECK_EQ(errno, E2BIG);
	}
	errno = E2BIG;
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, &old));
	CHECK_EQ(errno, E2BIG);
}

static void reset_once(void *arg)
{
	(void)arg;
	install(SIGUSR1, note_signal, (int)SA_RESETHAND);
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
	raise(SIGUSR1);
}

static void reset_once_after_a_mask(void *arg)
{
	struct sigaction old;

	(void)arg;
	install(SIGUSR1, note_signal, (int)SA_RESETHAND);
	percpu_soft_mask();
	raise(SIGUSR1);
	EXPECT_NOTHING();
	CHECK_OK(percpu_sigaction(SIGUSR1, NULL, &old));
	CHECK(old.sa_handler == note_signal);
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
	CHECK_OK(percpu_sigaction(SIGUSR1, NULL, &old));
	CHECK(old.sa_handler == SIG_DFL);
	raise(SIGUSR1);
}

TEST(resethand_serves_one_signal)
{
	CHECK_EQ(test_in_child(reset_once, NULL), -SIGUSR1);
	needs_real_signals();
	CHECK_EQ(test_in_child(reset_once_after_a_mask, NULL), -SIGUSR1);
}

/* Goes down by one signal a level: its own. */
static volatile int to_raise;

static void raise_own(int sig)
{
	note(to_raise);
	if (to_raise > 0) {
		to_raise = to_raise - 1;
		raise(sig);
	}
	note(-1);
}

TEST(nodefer_lets_a_handler_on_top_of_itself)
{
	needs_real_signals();
	install(SIGUSR1, raise_own, SA_NODEFER);
	to_raise = 1;
	raise(SIGUSR1);
	EXPECT(1, 0, -1, -1);
	install(SIGUSR1, raise_own, 0);
	to_raise = 1;
	raise(SIGUSR1);
	EXPECT(1, -1, 0, -1);
}

TEST(nodefer_obeys_a_mask_that_names_the_signal)
{
	struct sigaction action = plain_action(raise_own, SA_NODEFER);

	needs_real_signals();
	sigaddset(&action.sa_mask, SIGUSR1);
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, NULL));
	to_raise = 1;
	raise(SIGUSR1);
	EXPECT(1, -1, 0, -1);
}

TEST(nodefer_waits_for_a_soft_mask)
{
	needs_real_signals();
	install(SIGUSR1, raise_own, SA_NODEFER);
	to_raise = 1;
	percpu_soft_mask();
	raise(SIGUSR1);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(1, 0, -1, -1);
	CHECK(!is_blocked(SIGUSR1));
}

/* Room for the largest register sets, and what a handler needs. */
#define HANDLER_STACK (256 * 1024)
static char *stack_of_handlers;

static void note_stack(int sig)
{
	char here;
	char *frame = &here;

	(void)sig;
	note(frame >= stack_of_handlers && frame < stack_of_handlers + HANDLER_STACK);
}

TEST(onstack_runs_on_the_other_stack)
{
	stack_t stack;

	needs_real_signals();
	memset(&stack, 0, sizeof(stack));
	stack.ss_size = HANDLER_STACK;
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	CHECK(stack.ss_sp != MAP_FAILED);
	stack_of_handlers = (char *)stack.ss_sp;
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	install(SIGUSR1, note_stack, SA_ONSTACK);
	install(SIGUSR2, note_stack, 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	percpu_soft_mask();
	raise(SIGUSR1);
	percpu_soft_unmask();
	percpu_soft_mask();
	raise(SIGUSR2);
	percpu_soft_unmask();
	EXPECT(1, 0, 1, 0);
}

static void note_blocked(int sig)
{
	(void)sig;
	note(is_blocked(SIGUSR1));
	note(is_blocked(SIGUSR2));
	note(is_blocked(SIGHUP));
	note(is_blocked(SIGTERM));
}

/* The flags that the kernel acts upon are the kernel's. */
TEST(masks_and_flags_reach_the_kernel)
{
	struct sigaction action = plain_action(note_blocked, SA_RESTART | SA_ONSTACK), old;

	needs_real_signals();
	sigaddset(&action.sa_mask, SIGUSR2);
	sigaddset(&action.sa_mask, SIGHUP);
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	EXPECT(1, 1, 1, 0);
	CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(SIGHUP));
	percpu_soft_mask();
	raise(SIGUSR1);
	percpu_soft_unmask();
	EXPECT(1, 1, 1, 0);
	CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(SIGHUP));
	CHECK_EQ(sigaction(SIGUSR1, NULL, &old), 0);
	CHECK_EQ(old.sa_flags & (SA_RESTART | SA_ONSTACK), SA_RESTART | SA_ONSTACK);
}

/* ---- Put off by a soft mask ---- */

TEST(a_soft_mask_puts_a_handler_off)
{
	needs_real_signals();
	install(SIGUSR1, note_signal, 0);
	install(SIGUSR2, note_signal, 0);
	percpu_soft_mask();
	raise(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGUSR2);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	/* Of the kernel's order between signals nothing is known; twice the same came once. */
	CHECK_EQ(entries, 2);
	CHECK_EQ(diary[0] + diary[1], SIGUSR1 + SIGUSR2);
	CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	entries = 0;
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
}

TEST(soft_masks_nest)
{
	needs_real_signals();
	install(SIGUSR1, note_signal, 0);
	percpu_soft_mask();
	percpu_soft_mask();
	raise(SIGUSR1);
	percpu_soft_unmask();
	EXPECT_NOTHING();
	percpu_soft_mask();
	percpu_soft_unmask();
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
}

TEST(a_soft_mask_leaves_other_handlers_alone)
{
	struct sigaction action = plain_action(note_signal, 0);

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	percpu_soft_mask();
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
	percpu_soft_unmask();
	EXPECT_NOTHING();
}

TEST(queued_values_arrive_in_order_after_a_mask)
{
	struct sigaction action = info_action(note_value, 0);

	needs_real_signals();
	CHECK_OK(percpu_sigaction(SIGRTMIN, &action, NULL));
	percpu_soft_mask();
	for (int i = 0; i < 200; i++)
		queue_value(SIGRTMIN, i);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	CHECK_EQ(entries, 200);
	for (int i = 0; i < 200; i++)
		CHECK_EQ(diary[i], i);
}

/* As documented: it is queued again behind the others. */
TEST(the_first_of_several_that_are_pending_comes_last)
{
	struct sigaction action = info_action(note_value, 0);

	needs_real_signals();
	CHECK_OK(percpu_sigaction(SIGRTMIN, &action, NULL));
	block(SIG_BLOCK, SIGRTMIN);
	for (int i = 1; i <= 4; i++)
		queue_value(SIGRTMIN, i);
	percpu_soft_mask();
	block(SIG_UNBLOCK, SIGRTMIN);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(2, 3, 4, 1);
}

static siginfo_t last_info;

static void keep_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	last_info = *info;
	note(sig);
}

static void check_timer_info(void)
{
	struct sigevent event;
	struct itimerspec soon;
	sigset_t pending;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGRTMIN + 1;
	event.sigev_value.sival_int = 4711;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&soon, 0, sizeof(soon));
	soon.it_value.tv_nsec = 1;
	percpu_soft_mask();
	CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
	do
		sigpending(&pending);
	while (sigismember(&pending, SIGRTMIN + 1) != 1);
	percpu_soft_unmask();
	EXPECT(SIGRTMIN + 1);
	CHECK_EQ(last_info.si_code, SI_TIMER);
	CHECK_EQ(last_info.si_value.sival_int, 4711);
	timer_delete(timer);
}

TEST(what_comes_with_a_signal_survives_a_mask)
{
	struct sigaction action = info_action(keep_info, 0);

	needs_real_signals();
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(percpu_sigaction(SIGRTMIN, &action, NULL));
	CHECK_OK(percpu_sigaction(SIGRTMIN + 1, &action, NULL));
	percpu_soft_mask();
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
	CHECK_EQ(last_info.si_code, SI_USER);
	CHECK_EQ(last_info.si_pid, getpid());
	CHECK_EQ(last_info.si_uid, getuid());
	percpu_soft_mask();
	queue_value(SIGRTMIN, -5);
	percpu_soft_unmask();
	EXPECT(SIGRTMIN);
	CHECK_EQ(last_info.si_code, SI_QUEUE);
	CHECK_EQ(last_info.si_value.sival_int, -5);
	CHECK_EQ(last_info.si_pid, getpid());
	check_timer_info();
}

static void without_room(void *arg)
{
	const struct rlimit none = {0, 0};

	(void)arg;
	install(SIGUSR1, note_signal, 0);
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	percpu_soft_mask();
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
}

TEST(a_signal_for_which_the_queue_has_no_room_still_comes)
{
	needs_real_signals();
	CHECK_EQ(test_in_child(without_room, NULL), TEST_PASSED);
}

TEST(a_hundred_thousand_masks_lose_no_signal)
{
	struct sigaction action = info_action(note_value, 0);

	needs_real_signals();
	CHECK_OK(percpu_sigaction(SIGRTMIN, &action, NULL));
	for (int i = 0; i < 100000; i++) {
		percpu_soft_mask();
		if (i % 2)
			queue_value(SIGRTMIN, i);
		percpu_soft_unmask();
		CHECK_EQ(entries, i % 2);
		CHECK(entries == 0 || diary[0] == i);
		entries = 0;
	}
}

TEST(errno_is_kept_when_a_signal_is_put_off_and_comes_back)
{
	sigset_t set;

	needs_real_signals();
	install(SIGUSR1, note_signal, 0);
	percpu_soft_mask();
	/* By a call that does not touch errno. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	raise(SIGUSR1);
	errno = E2BIG;
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	CHECK_EQ(errno, E2BIG);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	CHECK_EQ(errno, E2BIG);
	EXPECT(SIGUSR1);
}

static void raise_under_a_mask(unsigned index, void *arg)
{
	(void)arg;
	if (index)
		percpu_soft_mask();
	raise(SIGUSR1);
	CHECK_EQ(is_blocked(SIGUSR1), index);
	if (index)
		percpu_soft_unmask();
	CHECK(!is_blocked(SIGUSR1));
}

static void count_one(int sig)
{
	(void)sig;
	__atomic_add_fetch(&to_raise, 1, __ATOMIC_RELAXED);
}

TEST(a_soft_mask_is_of_one_thread)
{
	needs_real_signals();
	install(SIGUSR1, count_one, 0);
	test_threads(2, raise_under_a_mask, NULL);
	CHECK_EQ(to_raise, 2);
}

static void unmask_in_child(void *arg)
{
	(void)arg;
	percpu_soft_unmask();
	/* What was pending is the parent's. */
	EXPECT_NOTHING();
	CHECK(!is_blocked(SIGUSR1));
	raise(SIGUSR1);
	EXPECT(SIGUSR1);
}

TEST(a_child_forked_under_a_mask_can_lift_it)
{
	needs_real_signals();
	install(SIGUSR1, note_signal, 0);
	percpu_soft_mask();
	raise(SIGUSR1);
	CHECK_EQ(test_in_child(unmask_in_child, NULL), TEST_PASSED);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(SIGUSR1);
}

static volatile char *guarded;

static void open_page(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code > 0)
		CHECK_EQ(mprotect((void *)(uintptr_t)guarded, 1, PROT_READ | PROT_WRITE), 0);
	note(sig);
}

TEST(synchronous_signals_do_not_wait)
{
	struct sigaction action = info_action(open_page, 0);

	needs_real_signals();
	guarded = (char *)mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guarded != MAP_FAILED);
	CHECK_OK(percpu_sigaction(SIGSEGV, &action, NULL));
	percpu_soft_mask();
	/* The same signal, sent, is like any other. */
	raise(SIGSEGV);
	EXPECT_NOTHING();
	block(SIG_UNBLOCK, SIGSEGV);
	EXPECT_NOTHING();
	percpu_soft_unmask();
	EXPECT(SIGSEGV);
	percpu_soft_mask();
	*guarded = 1;
	EXPECT(SIGSEGV);
	percpu_soft_unmask();
	EXPECT_NOTHING();
}

/* ---- Handlers on handlers ---- */

/* Each raises the next one of these and notes when it begins and when it ends. */
static const int chain[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGQUIT};
enum { CHAIN = sizeof(chain) / sizeof(chain[0]) };

static int place_in_chain(int sig)
{
	int i = 0;

	while (chain[i] != sig)
		i++;
	return i;
}

static void raise_next(int sig)
{
	int i = place_in_chain(sig);

	note(i);
	if (i + 1 < CHAIN)
		raise(chain[i + 1]);
	note(-i);
}

static void install_chain(void (*handler)(int))
{
	for (int i = 0; i < CHAIN; i++)
		install(chain[i], handler, 0);
}

TEST(a_third_handler_waits_for_the_second_to_return)
{
	needs_real_signals();
	install_chain(raise_next);
	raise(SIGUSR1);
	/* 2 waits for 1 to end, 3 for 2, and so on: never three at once, none lost. */
	EXPECT(0, 1, -1, 2, -2, 3, -3, 4, -4, 0);
	for (int i = 0; i < CHAIN; i++)
		CHECK(!is_blocked(chain[i]));
}

/* The same, each under a mask of its own, which it lifts before it ends. */
static void raise_next_masked(int sig)
{
	int i = place_in_chain(sig);

	percpu_soft_mask();
	note(i);
	if (i + 1 < CHAIN)
		raise(chain[i + 1]);
	note(-i);
	percpu_soft_unmask();
}

TEST(a_mask_lifted_in_a_handler_lets_the_next_one_run)
{
	needs_real_signals();
	install_chain(raise_next_masked);
	raise(SIGUSR1);
	EXPECT(0, 0, 1, -1, 2, -2, 3, -3, 4, -4);
	for (int i = 0; i < CHAIN; i++)
		CHECK(!is_blocked(chain[i]));
	/* And it ran at the unmask, before its handler returned. */
	install(SIGUSR1, raise_next, 0);
	raise(SIGUSR1);
	EXPECT(0, 1, -1, 2, -2, 3, -3, 4, -4, 0);
}

static void mask_and_unmask(int sig)
{
	(void)sig;
	note(is_blocked(SIGTERM));
	percpu_soft_mask();
	percpu_soft_unmask();
	note(is_blocked(SIGTERM));
}

/* A signal that waited once is not unblocked later, when the program has blocked it. */
TEST(what_the_program_blocks_stays_blocked)
{
	struct sigaction action = plain_action(mask_and_unmask, 0);

	needs_real_signals();
	install_chain(raise_next);
	raise(SIGUSR1);
	entries = 0;
	sigaddset(&action.sa_mask, SIGTERM);
	CHECK_OK(percpu_sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	EXPECT(1, 1);
	percpu_soft_mask();
	raise(SIGTERM);
	percpu_soft_unmask();
	entries = 0;
	block(SIG_BLOCK, SIGTERM);
	percpu_soft_mask();
	percpu_soft_unmask();
	CHECK(is_blocked(SIGTERM));
	raise(SIGUSR2);
	CHECK(is_blocked(SIGTERM));
}

/* One installed otherwise, which counts itself, with a wrapped one on top that once ran deeper. */
static void announced(int sig)
{
	PERCPU_HANDLER_ENTER();
	note(sig);
	raise(SIGUSR1);
	PERCPU_HANDLER_LEAVE();
}

static void raise_far_down(int frames)
{
	volatile char frame[1024];

	frame[0] = (char)frames;
	if (frames > 0)
		raise_far_down(frames - 1);
	else
		raise(SIGUSR1);
	frame[1] = frame[0];
}

TEST(announced_and_wrapped_handlers_mix)
{
	struct sigaction action = plain_action(announced, 0);

	install(SIGUSR1, note_signal, 0);
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	raise_far_down(50);
	EXPECT(SIGUSR1);
	raise(SIGUSR2);
	EXPECT(SIGUSR2, SIGUSR1);
}

static void install_another(int sig)
{
	install(sig, note_signal, 0);
	note(0);
}

TEST(a_handler_may_install_another)
{
	install(SIGUSR1, install_another, 0);
	raise(SIGUSR1);
	raise(SIGUSR1);
	EXPECT(0, SIGUSR1);
}

#if defined(PERCPU_DEBUG)

static sigjmp_buf way_out;

static void jump_out(int sig)
{
	(void)sig;
	siglongjmp(way_out, 1);
}

static void leave_by_jump(void *arg)
{
	(void)arg;
	install(SIGUSR1, jump_out, 0);
	install(SIGUSR2, note_signal, 0);
	if (sigsetjmp(way_out, 1) == 0)
		raise(SIGUSR1);
	raise(SIGUSR2);
}

TEST(debug_builds_stop_after_a_handler_was_left_by_siglongjmp)
{
	CHECK_EQ(test_in_child(leave_by_jump, NULL), -SIGABRT);
}

static void one_too_deep(void *arg)
{
	static PERCPU__LOCAL_DECLARE(trivalue, int, counter);

	(void)arg;
	for (int depth = 0; depth < PERCPU_HANDLER_DEPTH + 1; depth++) {
		PERCPU__LOCAL_ADD(trivalue, int, &counter, 1);
		PERCPU_HANDLER_ENTER();
	}
	CHECK_EQ(PERCPU__LOCAL_READ(trivalue, int, &counter), 3);
	PERCPU__LOCAL_ADD(trivalue, int, &counter, 1);
}

TEST(debug_builds_stop_where_trivalue_has_no_value)
{
	CHECK(test_in_child(one_too_deep, NULL) < 0);
}

#endif

TEST_MAIN()

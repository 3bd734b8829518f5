/* SPDX-License-Identifier: MIT */
/*
 * Handlers that a thread can hold off without a system call.
 *
 * Every handler installed here is reached through enter(). It counts how deep handlers are nested
 * on this thread's stack. A signal that must not run now (a soft mask is held, or trivalue has no
 * value left for another level) is put off: queued again to this thread with its siginfo, and
 * blocked in the context that the kernel restores, so that it does not come back at once. What a
 * soft mask put off comes back when the mask is lifted, which unblocks it; what the depth put off,
 * when the handler that it interrupted returns, which restores a mask without it. Then enter()
 * decides again.
 *
 * H1  context.depth is the number of enter() frames of this thread that run a user's handler; only
 *     frames above change it, and they change it back.
 * H2  put_off has the signals that were blocked for a soft mask's sake and have not come back.
 * H3  While enter() runs its signal is blocked, or queueing it again would deliver it at once: the
 *     kernel never sees SA_NODEFER, enter() unblocks the signal itself before the user's handler.
 *
 * Synchronous signals cannot wait (the instruction would fault again): they run at once, counted
 * like any other.
 */
#include "internal.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <percpu/local.h>

#define SIGNALS_MAX 65

__thread struct percpu__context percpu__context __attribute__((tls_model("initial-exec")));
static __thread sigset_t put_off __attribute__((tls_model("initial-exec")));

/* What the program installed; called with three arguments always, as the kernel does. */
static struct action {
	void (*handler)(int, siginfo_t *, void *);
	int flags;
	bool unblock; /* itself, while the handler runs: SA_NODEFER, and not in its own sa_mask */
} actions[SIGNALS_MAX];

static bool synchronous(int signal, const siginfo_t *info)
{
	switch (signal) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0; /* by the kernel, for what the code did */
	default:
		return false;
	}
}

static bool must_wait(void)
{
	return percpu__context.mask != 0 || percpu__context.depth >= PERCPU_HANDLER_DEPTH;
}

/* What the kernel blocks when the handler with this context returns. */
static sigset_t *mask_of(void *context)
{
#if defined(ARCH_SIGNAL_MASK)
	return (sigset_t *)ARCH_SIGNAL_MASK(context);
#else
	return &((ucontext_t *)context)->uc_sigmask;
#endif
}

static void put_signal_off(int signal, siginfo_t *info, sigset_t *mask)
{
	int saved = errno;
	pid_t process = getpid(), thread = (pid_t)syscall(SYS_gettid);

	if (percpu__context.mask != 0) {
		sigaddset(&put_off, signal);
		percpu__context.waiting = 1;
	}
	sigaddset(mask, signal);
	/* Without room in the queue the signal still comes, if not what came with it. */
	if (syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, info) != 0)
		(void)syscall(SYS_tgkill, process, thread, signal);
	errno = saved;
}

void percpu__signals_resume(void)
{
	int saved = errno;
	sigset_t mask;

	if (percpu__context.mask != 0)
		return;
	percpu__signals_block(&mask);
	for (int signal = 1; signal < SIGNALS_MAX; signal++)
		if (sigismember(&put_off, signal) == 1)
			sigdelset(&mask, signal);
	sigemptyset(&put_off);
	percpu__context.waiting = 0;
	percpu__signals_restore(&mask);
	errno = saved;
}

void percpu__signals_hold(struct percpu__sigset *before)
{
	sigset_t saved;

	PERCPU__STATIC_ASSERT(sizeof(*before) >= _NSIG / 8, "struct percpu__sigset is too small");
	percpu__signals_block(&saved);
	memcpy(before, &saved, sizeof(*before));
}

void percpu__signals_release(const struct percpu__sigset *before)
{
	sigset_t saved;

	memcpy(&saved, before, sizeof(*before));
	percpu__signals_restore(&saved);
}

#if defined(PERCPU_DEBUG)
/* Where enter()'s frames are, to notice a handler that was left by siglongjmp(): the next frame is
 * then not below it. On an alternate stack, and of handlers entered by macro, nothing is known. */
static __thread char *frames[PERCPU_HANDLER_DEPTH + 1];

static void frame_begins(char *frame, const struct action *action)
{
	unsigned depth = percpu__context.depth;

	if (depth > PERCPU_HANDLER_DEPTH)
		return;
	if (action->flags & SA_ONSTACK)
		frame = NULL;
	INVARIANT("H1", depth == 0 || !frame || !frames[depth - 1] || frame < frames[depth - 1]);
	frames[depth] = frame;
}

static void frame_ends(void)
{
	if (percpu__context.depth <= PERCPU_HANDLER_DEPTH)
		frames[percpu__context.depth] = NULL;
}
#else
static void frame_begins(char *frame, const struct action *action)
{
	(void)frame, (void)action;
}

static void frame_ends(void)
{
}
#endif

/* H3: what SA_NODEFER asked for. */
static void unblock_own(int signal)
{
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, signal);
	(void)pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

static void enter(int signal, siginfo_t *info, void *context)
{
	const struct action *action = &actions[signal];
	void (*handler)(int, siginfo_t *, void *) =
		__atomic_load_n(&action->handler, __ATOMIC_ACQUIRE);

	if (must_wait() && !synchronous(signal, info)) {
		put_signal_off(signal, info, mask_of(context));
		return;
	}
	sigdelset(&put_off, signal);
	if (action->flags & (int)SA_RESETHAND)
		(void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	frame_begins(__builtin_frame_address(0), action);
	PERCPU_HANDLER_ENTER();
	if (action->unblock)
		unblock_own(signal);
	handler(signal, info, context);
	PERCPU_HANDLER_LEAVE();
	frame_ends();
}

/* What sigaction() returned, as the program installed it. */
static void describe_old(struct sigaction *old, const struct action *action)
{
	if (!(old->sa_flags & SA_SIGINFO) || old->sa_sigaction != enter)
		return;
	old->sa_flags = action->flags;
	old->sa_sigaction = action->handler;
}

int percpu_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct action *own, before;
	struct sigaction wrapped;
	int saved = errno;
	int result = 0;

	if (signal < 1 || signal >= SIGNALS_MAX)
		return -EINVAL;
	own = &actions[signal];
	before = *own;
	if (action && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
	    action->sa_sigaction != enter) {
		wrapped = *action;
		wrapped.sa_sigaction = enter;
		wrapped.sa_flags =
			(action->sa_flags | SA_SIGINFO) & ~((int)SA_RESETHAND | SA_NODEFER);
		own->flags = action->sa_flags;
		own->unblock = (action->sa_flags & SA_NODEFER) != 0 &&
			       sigismember(&action->sa_mask, signal) == 0;
		__atomic_store_n(&own->handler, action->sa_sigaction, __ATOMIC_RELEASE);
		action = &wrapped;
	}
	if (sigaction(signal, action, old) != 0) {
		result = -errno;
		*own = before;
	} else if (old) {
		describe_old(old, &before);
	}
	errno = saved;
	return result;
}

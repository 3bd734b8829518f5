/* SPDX-License-Identifier: MIT */
/* What a sanitizer does to a test: it runs handlers when it likes, and is stepped through, too. */
#ifndef PERCPU_TEST_SANITIZERS_H
#define PERCPU_TEST_SANITIZERS_H

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED                                                                                  \
	(__has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) ||                     \
	 __has_feature(address_sanitizer))
#else
#define SANITIZED THREAD_SANITIZER
#endif

#endif

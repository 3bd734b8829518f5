/* SPDX-License-Identifier: MIT */
/* Everything: one include for programs that do not care which header a call is in. */
#ifndef PERCPU_PERCPU_H
#define PERCPU_PERCPU_H

#include <percpu/counter.h>
#include <percpu/events.h>
#include <percpu/limit.h>
#include <percpu/list.h>
#include <percpu/local.h>
#include <percpu/lock.h>
#include <percpu/reader.h>
#include <percpu/ref.h>
#include <percpu/stack.h>
#include <percpu/txn.h>
#include <percpu/zone.h>

#endif

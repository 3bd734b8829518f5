// SPDX-License-Identifier: GPL-2.0
/*
 * percpu_local: measures local_t and its rivals inside the kernel.
 *
 *	/sys/kernel/debug/percpu_local/run     write 1: measures, in the writer's context
 *	/sys/kernel/debug/percpu_local/table   the last run, as text
 *	/sys/kernel/debug/percpu_local/json    the same, one object a line
 *	/sys/kernel/debug/percpu_local/status  the verdict on every total
 *
 * Nothing is measured at load. An open file keeps the module loaded, so a run never loses its code.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "compat.h"
#include "percpu_local.h"

unsigned long sizes[MAX_SIZES];
unsigned int nsizes; /* 0 at load: local.c has the default */
module_param_array(sizes, ulong, &nsizes, 0444);
MODULE_PARM_DESC(sizes, "lengths of the arrays, in longs");

unsigned int rounds = 5;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often everything is measured, 1 to 1000");

unsigned int repetitions = 20000;
module_param(repetitions, uint, 0444);
MODULE_PARM_DESC(repetitions, "operations in a loop of the cmpxchg and event tables");

unsigned int hot_ops = 1 << 20;
module_param(hot_ops, uint, 0444);
MODULE_PARM_DESC(hot_ops, "operations on a hot variable per round");

unsigned int walk_ops = 32 * 2097152;
module_param(walk_ops, uint, 0444);
MODULE_PARM_DESC(walk_ops, "operations on an array per round, where 32 per long would be more");

unsigned int storm_interrupts = 1000;
module_param(storm_interrupts, uint, 0444);
MODULE_PARM_DESC(storm_interrupts, "timer interrupts on top of each way; 0: none");

long planted;
module_param(planted, long, 0444);
MODULE_PARM_DESC(planted, "added to totals before they are checked: a test of the checks");

static struct dentry *folder;

static DEFINE_MUTEX(running);    /* one run at a time */
static DEFINE_MUTEX(publishing); /* protects the two below */
static struct results *results;
static int outcome = -ENODATA; /* of the last run; -ENODATA: there was none */

static const char *preemption_model(void)
{
	if (preempt_model_rt())
		return "rt";
	if (preempt_model_full())
		return "full";
	if (preempt_model_lazy())
		return "lazy";
	if (preempt_model_voluntary())
		return "voluntary";
	return preempt_model_none() ? "none" : "other";
}

static void publish(struct results *fresh, int err)
{
	struct results *old;

	mutex_lock(&publishing);
	old = results;
	results = fresh;
	outcome = err;
	mutex_unlock(&publishing);
	results_free(old);
}

static int measure(struct results *r)
{
	int err = local_run(r);

	if (!err)
		err = probe_run(r);
	return err ?: storm_run(r);
}

/* An interrupted or failed run leaves no results; one with wrong totals leaves them to be read. */
static int run(void)
{
	struct results *fresh = results_new(local_rows() + probe_rows(), rounds);
	int err = -ENOMEM;

	if (fresh) {
		fresh->preemption = preemption_model();
		err = measure(fresh);
	}
	if (err) {
		results_free(fresh);
		publish(NULL, err);
		return err;
	}
	results_summarise(fresh);
	if (results_wrong(fresh)) {
		pr_err("%lu totals are wrong: see status\n", results_wrong(fresh));
		err = -EIO;
	}
	publish(fresh, err);
	return err;
}

static ssize_t run_write(struct file *file, const char __user *text, size_t count, loff_t *at)
{
	bool wanted;
	int err = kstrtobool_from_user(text, count, &wanted);

	if (err)
		return err;
	if (!wanted)
		return -EINVAL;
	if (!mutex_trylock(&running))
		return -EBUSY;
	err = run();
	mutex_unlock(&running);
	return err ?: (ssize_t)count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
	.llseek = noop_llseek,
};

static int table_show(struct seq_file *out, void *unused)
{
	mutex_lock(&publishing);
	if (results)
		report_table(out, results);
	mutex_unlock(&publishing);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(table);

static int json_show(struct seq_file *out, void *unused)
{
	mutex_lock(&publishing);
	if (results)
		report_json(out, results);
	mutex_unlock(&publishing);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(json);

static int status_show(struct seq_file *out, void *unused)
{
	if (mutex_is_locked(&running))
		seq_puts(out, "running; what follows is of the run before\n");
	mutex_lock(&publishing);
	if (results)
		report_status(out, results);
	else if (outcome == -ENODATA)
		seq_puts(out, "not run yet\n");
	else
		seq_printf(out, "failed: error %d\n", -outcome);
	mutex_unlock(&publishing);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static const struct {
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
} files[] = {
	{"run", 0200, &run_fops},
	{"table", 0400, &table_fops},
	{"json", 0400, &json_fops},
	{"status", 0400, &status_fops},
};

static int check_parameters(void)
{
	if (!rounds || rounds > 1000 || !repetitions || repetitions > 10000000) {
		pr_err("rounds or repetitions out of range\n");
		return -EINVAL;
	}
	if (hot_ops < 1024 || hot_ops > 1U << 30 || storm_interrupts > 1000000) {
		pr_err("hot_ops or storm_interrupts out of range\n");
		return -EINVAL;
	}
	return local_set_sizes();
}

static int __init percpu_local_init(void)
{
	struct dentry *file;
	unsigned int i;
	int err = check_parameters();

	if (err)
		return err;
	folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	if (IS_ERR(folder))
		return PTR_ERR(folder);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = debugfs_create_file(files[i].name, files[i].mode, folder, NULL,
					   files[i].fops);
		if (IS_ERR(file)) {
			debugfs_remove(folder);
			return PTR_ERR(file);
		}
	}
	return 0;
}

static void __exit percpu_local_exit(void)
{
	debugfs_remove(folder);
	results_free(results);
}

module_init(percpu_local_init);
module_exit(percpu_local_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("local_t and its rivals, measured where they come from");

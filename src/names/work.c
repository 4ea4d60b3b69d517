// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/clock.h"
#include "names/work.h"

#define POLL_NS 2000000ULL

void work_begin(struct work *w, uint64_t ns, int wake_fd)
{
	w->polled_ns = clock_mono_ns();
	w->until_ns = w->polled_ns + ns;
	w->wake_fd = wake_fd;
	w->seq = 0;
	w->over = w->woken = false;
}

bool work_is_awaited(const struct work *w, uint32_t seq)
{
	return (int32_t)(seq - __atomic_load_n(&w->mark->wanted, __ATOMIC_RELAXED)) >= 0;
}

bool work_over(struct work *w)
{
	uint64_t now;

	if (!w)
		return false;
	if (w->over)
		return true;
	now = clock_mono_ns();
	w->over = now >= w->until_ns || (w->seq && !work_is_awaited(w, w->seq));
	if (!w->over && w->wake_fd >= 0 && now - w->polled_ns > POLL_NS) {
		w->polled_ns = now;
		w->over = w->woken = wire_wait(w->wake_fd, 0);
	}
	return w->over;
}

void work_on_process(struct work *w, uint32_t pid)
{
	if (!w || !w->mark)
		return;
	w->mark->file = (struct file_id){0};
	w->mark->pid = pid;
}

bool work_on_file(struct work *w, const struct file_id *file)
{
	if (w && w->refused && refused_has(w->refused, file, 0))
		return false;
	if (w && w->mark)
		w->mark->file = *file;
	return true;
}

bool refused_has(const struct refused *r, const struct file_id *file, uint32_t pid)
{
	size_t n = r->n < REFUSED_MAX ? r->n : REFUSED_MAX;

	for (size_t i = 0; i < n; i++)
		if (file && file->ino ? file_id_same(&r->v[i].file, file)
				      : !r->v[i].file.ino && r->v[i].pid == pid)
			return true;
	return false;
}

void refused_add(struct refused *r, const struct file_id *file, uint32_t pid)
{
	if (refused_has(r, file, pid))
		return;
	r->v[r->n % REFUSED_MAX].file = *file;
	r->v[r->n++ % REFUSED_MAX].pid = pid;
}

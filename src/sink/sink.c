// SPDX-License-Identifier: GPL-2.0-or-later
/* What all formats have in common: a stream that is opened, begun anew on SIGHUP, and closed. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sink_failed(const struct sink *s, int ret, struct err *e)
{
	return err_sys(e, ret, "output %s", s->ops->what);
}

int sink_new(struct sink **out, const struct sink_ops *ops, const struct sink_args *args,
	     struct err *e)
{
	struct sink *s = calloc(1, ops->size);
	int ret = 0;

	if (!s)
		return err_sys(e, -ENOMEM, "output %s", ops->what);
	s->ops = ops;
	s->cfg = args->cfg;
	s->out = &s->own;
	if (args->memory)
		out_open_memory(s->out);
	else
		ret = out_open(s->out, args->path, args->owner_only, e);
	if (ret) {
		(void)out_close(s->out, NULL); /* nothing written: the open's error counts */
		free(s);
		return ret;
	}
	*out = s;
	return 0;
}

int sink_flush_head(struct sink *s, struct err *e)
{
	struct out *o = s->out;

	free(s->head);
	s->head_len = o->len;
	s->head = malloc(o->len + 1);
	if (!s->head)
		o->error = -ENOMEM;
	else if (o->len)
		memcpy(s->head, o->buf, o->len);
	return out_flush(o, e);
}

int sink_reopen(struct sink *s, struct err *e)
{
	int ret = out_reopen(s->out, e);

	if (ret || !s->out->owned || !out_is_empty_file(s->out))
		return ret;
	if (s->ops->begin)
		s->ops->begin(s);
	if (s->head)
		out_put(s->out, s->head, s->head_len);
	return out_flush(s->out, e);
}

int sink_close(struct sink *s, struct err *e)
{
	int ret;

	if (!s)
		return 0;
	ret = out_close(s->out, e);
	if (s->ops->free)
		s->ops->free(s);
	free(s->head);
	free(s);
	return ret;
}

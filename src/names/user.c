// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "names/internal.h"

struct names_user {
	bool debuginfod;
};

int names_user_open(struct names_user **out, const struct names_args *args, struct err *e)
{
	struct names_user *u = calloc(1, sizeof(*u));

	if (!u)
		return err_sys(e, -ENOMEM, "names");
	*out = u;
	return 0;
}

void names_user_close(struct names_user *u)
{
	free(u);
}

int names_process(struct names *n, uint32_t pid)
{
	return -ESRCH;
}

void names_user_data(struct names *n, uint32_t pid, uint64_t addr, struct name *out)
{
	name_bare(out, addr);
}

void names_user_code(struct names *n, uint32_t pid, uint64_t ip, struct name *out)
{
	name_bare(out, ip);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/stat.h>

#include "names/btf_view.h"
#include "source/bpf_util.h"
#include "source/btf_check.h"

int btf_check_file(const char *file, struct err *e)
{
	struct btf_view v;
	struct stat st;
	int ret;

	ret = stat(file, &st) ? -errno : 0;
	if (!ret && !S_ISREG(st.st_mode))
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--btf '%s': not a regular file (expected a kernel's BTF, or an ELF "
			       "file with it)",
			       file);
	if (!ret)
		ret = btf_view_open(&v, file, NULL);
	if (ret)
		return bad_btf_file(e, ret, file);
	ret = btf_check_view(&v);
	btf_view_close(&v);
	return ret ? bad_btf_file(e, ret, file) : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "core/err.h"
#include "unit.h"

TEST(words)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, EXIT_CANNOT, -ENOTSUP, "%s: needs %d", "BTF", 5), -ENOTSUP);
	assert_string_equal(e.text, "BTF: needs 5");
	assert_int_equal(err_exit(&e), EXIT_CANNOT);
}

TEST(first_words_stay)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, EXIT_USAGE, -EINVAL, "near the cause"), -EINVAL);
	assert_int_equal(err_set(&e, EXIT_FAILED, -EIO, "far from it"), -EIO);
	assert_int_equal(err_sys(&e, -ENOENT, "further"), -ENOENT);
	assert_string_equal(e.text, "near the cause");
	assert_int_equal(err_exit(&e), EXIT_USAGE);
}

TEST(system_error)
{
	struct err e = {0};

	assert_int_equal(err_sys(&e, -ENOENT, "'%s'", "/x"), -ENOENT);
	assert_string_equal(e.text, "'/x': No such file or directory");
	assert_int_equal(err_exit(&e), EXIT_FAILED);
}

TEST(nowhere_to_write)
{
	struct err e = {0};

	assert_int_equal(err_set(NULL, EXIT_USAGE, -EINVAL, "x"), -EINVAL);
	assert_int_equal(err_sys(NULL, -ENOENT, "x"), -ENOENT);
	assert_string_equal(err_words(-ENOENT), strerror(ENOENT));
	assert_string_equal(err_words(-524), "not supported by this kernel"); /* ENOTSUPP */
	assert_int_equal(err_exit(NULL), EXIT_FAILED);
	assert_int_equal(err_exit(&e), EXIT_FAILED); /* failed without words */
}

TEST(too_long)
{
	char text[2 * ERR_TEXT_LEN];
	struct err e = {0};

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(err_sys(&e, -ENOENT, "%s", text), -ENOENT);
	assert_int_equal(strlen(e.text), ERR_TEXT_LEN - 1);
	e.text[0] = '\0';
	assert_int_equal(err_set(&e, EXIT_USAGE, -EINVAL, "%s", text), -EINVAL);
	assert_int_equal(strlen(e.text), ERR_TEXT_LEN - 1);
}

/* Whatever a path or a name has in it, it is one line of what a terminal shows. */
TEST(foreign_words)
{
	struct err e = {0};

	(void)err_sys(&e, -ENOENT, "'%s'", "a\033[2Jb\nc\xe2\x80\xae");
	assert_string_equal(e.text, "'a\\x1b[2Jb\\x0ac\xef\xbf\xbd': No such file or directory");
	e.text[0] = '\0';
	(void)err_set(&e, EXIT_USAGE, -EINVAL, "--cgroup '%s'", "\r\x9b");
	assert_string_equal(e.text, "--cgroup '\\x0d\xef\xbf\xbd'");
}

int main(void)
{
	return unit_main(NULL, NULL);
}

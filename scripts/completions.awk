# SPDX-License-Identifier: GPL-2.0-or-later
# Fills in a completion template (completions/*.in) from the option table:
#
#	waitscope --dump-options > options
#	awk -f scripts/completions.awk options completions/waitscope.bash.in
#
# A line of the table: long, short, argument, kind, words, repeat, help; between tabs, "-" for none. The options
# of a subcommand come after a line that is its name.

BEGIN {
	FS = "\t"
	part = "main"
	from[part] = 1
}

FNR == NR {
	if (NF == 1) {
		part = $1
		from[part] = n + 1
		next
	}
	to[part] = ++n
	name[n] = $1; key[n] = $2; arg[n] = $3; kind[n] = $4; words[n] = $5; many[n] = $6; help[n] = $7
	next
}

/^[ \t]*@cases@$/ {
	for (i = 1; i <= n; i++)
		if (arg[i] != "-" && !(name[i] in said) && said[name[i]] = 1)
			printf "\t%s--%s) echo '%s%s' ;;\n", key[i] == "-" ? "" : "-" key[i] " | ", name[i],
				kind[i], words[i] == "-" ? "" : " " words[i]
	next
}

{
	for (part in from)
		sub("@" part "_options@", long_names(from[part], to[part]))
}

/^[ \t]*@[a-z]+_arguments@$/ {
	part = $0
	gsub(/^[ \t]*@|_arguments@$/, "", part)
	for (i = from[part]; i <= to[part]; i++)
		printf "\t\t%s \\\n", zsh_spec(i)
	next
}

{ print }

function long_names(from, to,	i, all)
{
	for (i = from; i <= to; i++)
		all = all (i > from ? " " : "") "--" name[i]
	return all
}

# '(-o --output)'{-o+,--output=}'[format, ...]:FORMAT:...'
function zsh_spec(i,	spec, text)
{
	text = help[i]
	gsub(/'/, "'\\''", text)
	gsub(/[][]/, "\\\\&", text)
	gsub(/:/, "\\:", text)
	if (key[i] == "-")
		spec = "'" (many[i] == "repeat" ? "*" : "") "--" name[i] (arg[i] == "-" ? "" : "=")
	else
		spec = (many[i] == "repeat" ? "'*'" : "'(-" key[i] " --" name[i] ")'") \
			"{-" key[i] (arg[i] == "-" ? "" : "+") ",--" name[i] (arg[i] == "-" ? "" : "=") "}'"
	spec = spec "[" text "]"
	if (arg[i] != "-")
		spec = spec ":" zsh_label(arg[i]) ":" zsh_values(i)
	return spec "'"
}

function zsh_label(text)
{
	gsub(/[][]/, "\\\\&", text)
	gsub(/:/, "\\:", text)
	return text
}

function zsh_values(i)
{
	if (kind[i] == "words")
		return "(" words[i] ")"
	if (kind[i] == "sources")
		return "_values -s , source " words[i]
	if (kind[i] == "formats")
		return "_waitscope_formats " words[i]
	if (kind[i] == "files")
		return "_files"
	return kind[i] == "text" ? " " : "_waitscope_" kind[i]
}

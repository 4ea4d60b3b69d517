# SPDX-License-Identifier: GPL-2.0-or-later
# Fills in a completion template (completions/*.in) from the option table:
#
#	waitscope --dump-options > options
#	awk -f scripts/completions.awk options completions/waitscope.bash.in
#
# A line of the table: long, short, argument, kind, words, repeat, help; between tabs, "-" for none.

BEGIN { FS = "\t" }

FNR == NR {
	n++
	name[n] = $1; key[n] = $2; arg[n] = $3; kind[n] = $4; words[n] = $5; many[n] = $6; help[n] = $7
	next
}

/^[ \t]*@cases@$/ {
	for (i = 1; i <= n; i++)
		if (arg[i] != "-")
			printf "\t%s--%s) echo '%s%s' ;;\n", key[i] == "-" ? "" : "-" key[i] " | ", name[i],
				kind[i], words[i] == "-" ? "" : " " words[i]
	next
}

/@options@/ {
	all = ""
	for (i = 1; i <= n; i++)
		all = all (i > 1 ? " " : "") "--" name[i]
	sub(/@options@/, all)
}

/^[ \t]*@arguments@$/ {
	for (i = 1; i <= n; i++)
		printf "\t\t%s \\\n", zsh_spec(i)
	next
}

{ print }

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
	return kind[i] == "text" ? " " : "_waitscope_" kind[i]
}

# Prints what fish offers for a line, one candidate a line, without the descriptions.
#
#   fish candidates.fish FOLDER LINE    FOLDER holds the completion, quietus.fish
source $argv[1]/quietus.fish
complete -C "$argv[2]" | string replace -r '\t.*' '' | sort -u

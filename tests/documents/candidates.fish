# Prints what fish offers for a line, one candidate a line, without the descriptions.
#
#   fish candidates.fish FOLDER LINE    FOLDER holds the completion of the line's command
source $argv[1]/(string split ' ' $argv[2])[1].fish
complete -C "$argv[2]" | string replace -r '\t.*' '' | sort -u

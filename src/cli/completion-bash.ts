import type { CompletedVerb } from './completion.ts';
import { completedValue, flagsOf, takesCommand } from './completion-words.ts';

/**
 * A completion script for bash. Names of locks come from a store, where any client may have chosen them: the script
 * compares and quotes them, and never uses a command that expands words, as `compgen -W` does.
 */
export function bashCompletion(verbs: readonly CompletedVerb[]): string {
  return `# Completion of holdfast for bash. Made by: holdfast completion bash

_holdfast_words() {
  local word
  for word in "$@"; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
}

_holdfast_files() {
  compopt -o filenames 2> /dev/null
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}

_holdfast_locks() {
  local name index store=()
  for ((index = 2; index < \${#words[@]} - 1; index++)); do
    [[ \${words[index]} == --store ]] && store=(--store "\${words[index + 1]}")
  done
  while IFS= read -r name; do
    # A backslash is an escape of ls: completion leaves such names out.
    [[ $name == "$current"* && $name != *\\\\* ]] && COMPREPLY+=("$(printf %q "$name")")
  done < <("\${words[0]}" ls --quiet "\${store[@]}" 2> /dev/null)
}

_holdfast() {
  # Bash splits words at colons, which names of locks contain: split the line again, at spaces.
  local line=\${COMP_LINE:0:COMP_POINT} current words=() previous verb
  current=\${line##*[[:space:]]}
  read -ra words <<< "\${line%"$current"}"
  previous=\${words[-1]} verb=\${words[1]-}
  COMPREPLY=()
  _holdfast_choose
  local head=\${current%"\${current##*[:=]}"}
  [[ $COMP_WORDBREAKS == *:* && -n $head ]] && COMPREPLY=("\${COMPREPLY[@]#"$head"}")
}

_holdfast_choose() {
  if [[ -z $verb ]]; then
    _holdfast_words ${verbs.map(({ word }) => word).join(' ')} --help --version
    return
  fi
${verbs.filter(takesCommand).map(commandLines).join('')}  case "$verb $previous" in
${valueLines(verbs)}
  esac
  case $verb in
${verbs.map(verbLines).join('\n')}
  esac
}

complete -F _holdfast holdfast
`;
}

/** Completes the command after \`--\`. */
function commandLines({ word }: CompletedVerb): string {
  return `  if [[ $verb == ${word} && " \${words[*]} " == *' -- '* ]]; then
    if [[ $previous == -- ]]; then
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "$current")
    else
      _holdfast_files
    fi
    return
  fi
`;
}

/** Completes the value of an option. Options with the same values share a line; unknown values have no completion. */
function valueLines(verbs: readonly CompletedVerb[]): string {
  const patterns = new Map<string, string[]>();
  for (const { word, options } of verbs) {
    for (const [name, option] of Object.entries(options)) {
      const value = completedValue(option);
      if (value === undefined) continue;
      const known = patterns.get(action(value)) ?? [];
      const added = flagsOf(name, option).map((flag) => `'${word} ${flag}'`);
      patterns.set(action(value), [...known, ...added]);
    }
  }
  const lines = [...patterns].map(([act, words]) => `    ${words.join(' | ')}) ${act} ;;`);
  return lines.join('\n');
}

function action(value: NonNullable<ReturnType<typeof completedValue>>): string {
  if (value === 'file') return '_holdfast_files; return';
  return value === 'anything' ? 'return' : `_holdfast_words ${value.join(' ')}; return`;
}

function verbLines({ word, options, words }: CompletedVerb): string {
  const flags = Object.entries(options).flatMap(([name, option]) => flagsOf(name, option));
  const first = words === 'locks' ? '_holdfast_locks' : `_holdfast_words ${words.join(' ')}`;
  return [
    `    ${word})`,
    `      if [[ $current == -* ]]; then _holdfast_words ${flags.join(' ')}`,
    ...(words.length === 0
      ? []
      : [`      elif (( \${#words[@]} == 2 )) || [[ $previous == -* ]]; then ${first}`]),
    '      fi ;;',
  ].join('\n');
}

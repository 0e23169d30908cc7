import type { CompletedVerb } from './completion.ts';
import { completedValue, takesCommand } from './completion-words.ts';
import type { Option } from './options.ts';

/**
 * A completion script for fish. Names of locks come from a store, where any client may have chosen them: fish quotes
 * the lines of a command substitution and does not expand them.
 */
export function fishCompletion(verbs: readonly CompletedVerb[]): string {
  return `# Completion of holdfast for fish. Made by: holdfast completion fish

function __holdfast_verb_is
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test $words[2] = $argv[1]; and not contains -- -- $words
end

function __holdfast_has_no_verb
  test (count (commandline -opc)) -eq 1
end

function __holdfast_locks
  set -l words (commandline -opc)
  set -l store
  set -l index (contains -i -- --store $words)
  and test $index -lt (count $words)
  and set store --store $words[(math $index + 1)]
  # A backslash is an escape of ls: completion leaves such names out.
  $words[1] ls --quiet $store 2>/dev/null | string match --invert --entire -- '\\\\'
end

function __holdfast_is_command
  contains -- -- (commandline -opc)
end

function __holdfast_command
  set -l words (commandline -opc)
  while test $words[1] != --
    set -e words[1]
  end
  set -e words[1]
  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c holdfast -f
complete -c holdfast -n __holdfast_has_no_verb -s h -l help -d 'shows the verbs'
complete -c holdfast -n __holdfast_has_no_verb -s v -l version -d 'prints the version'
${verbs.flatMap(verbLines).join('\n')}
`;
}

function verbLines(verb: CompletedVerb): string[] {
  const { word, summary, options, words } = verb;
  const start = `complete -c holdfast -n '__holdfast_verb_is ${word}'`;
  const first = words === 'locks' ? '(__holdfast_locks)' : words.join(' ');
  return [
    `complete -c holdfast -n __holdfast_has_no_verb -a ${word} -d ${quoted(summary)}`,
    ...Object.entries(options).map(([name, option]) => `${start} ${optionFlags(name, option)}`),
    ...(first === '' ? [] : [`${start} -a ${quoted(first)}`]),
    ...(takesCommand(verb)
      ? ["complete -c holdfast -n __holdfast_is_command -a '(__holdfast_command)'"]
      : []),
  ];
}

function optionFlags(name: string, option: Option): string {
  const short = option.short === undefined ? '' : `-s ${option.short} `;
  return `${short}-l ${name}${valueFlags(option)} -d ${quoted(option.help)}`;
}

function valueFlags(option: Option): string {
  const value = completedValue(option);
  if (value === undefined) return '';
  if (value === 'file') return ' -r -F';
  return value === 'anything' ? ' -x' : ` -x -a ${quoted(value.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}

import type { CompletedVerb } from './completion.ts';
import { completedValue, takesCommand } from './completion-words.ts';
import type { Option } from './options.ts';

/** A completion script for zsh, to be sourced or put into its fpath. */
export function zshCompletion(verbs: readonly CompletedVerb[]): string {
  return `#compdef holdfast
# Completion of holdfast for zsh. Made by: holdfast completion zsh

_holdfast_locks() {
  local -a names store
  [[ -n \${opt_args[--store]} ]] && store=(--store "\${(Q)opt_args[--store]}")
  # A backslash is an escape of ls: completion leaves such names out.
  names=(\${(f)"$(_call_program locks holdfast ls --quiet \${(q)store} 2> /dev/null)"})
  names=(\${names:#*\\\\*})
  compadd -a names
}

_holdfast() {
  local -a verbs
  verbs=(
${verbs.map(({ word, summary }) => `    ${quoted(`${word}:${summary}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${verbs.map(verbLines).join('\n')}
  esac
}

if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`;
}

function verbLines(verb: CompletedVerb): string {
  const specs = Object.entries(verb.options).map(([name, option]) => optionSpec(name, option));
  const all = [...specs, ...wordSpecs(verb)].map((spec) => `        ${spec}`);
  return [`    ${verb.word})`, '      _arguments -s -S \\', `${all.join(' \\\n')} ;;`].join('\n');
}

/** `'(-w --watch)'{-w,--watch}'[help]'`; a value adds `:placeholder:action`. */
function optionSpec(name: string, option: Option): string {
  const help = option.help.replace(/[[\]:\\]/g, '\\$&');
  const what = quoted(`[${help}]${valueSpec(option)}`);
  const long = option.placeholder === undefined ? `--${name}` : `--${name}=`;
  if (option.short === undefined) return `${quoted(long)}${what}`;
  return `${quoted(`(-${option.short} --${name})`)}{-${option.short},${long}}${what}`;
}

function valueSpec(option: Option): string {
  const value = completedValue(option);
  if (value === undefined) return '';
  const action = value === 'file' ? '_files' : value === 'anything' ? ' ' : `(${value.join(' ')})`;
  return `:${option.placeholder!.replaceAll(':', '\\:')}:${action}`;
}

function wordSpecs(verb: CompletedVerb): string[] {
  const { words } = verb;
  const first = words === 'locks' ? "'1:lock:_holdfast_locks'" : `'1:word:(${words.join(' ')})'`;
  if (takesCommand(verb)) return [first, "'*::command:_normal'"];
  return words.length === 0 ? [] : [first];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

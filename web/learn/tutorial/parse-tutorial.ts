/** A step of the tutorial: prose as Markdown, and dialogues that can be run. */
export interface TutorialStep {
  readonly title: string;
  readonly parts: readonly TutorialPart[];
}

export type TutorialPart =
  | { readonly kind: 'prose'; readonly markdown: string }
  | { readonly kind: 'dialogue'; readonly lines: readonly DialogueLine[] };

export type DialogueLine =
  | {
      readonly kind: 'command';
      readonly client: string;
      readonly command: string;
      readonly replies: string;
    }
  | { readonly kind: 'wait'; readonly seconds: number; readonly replies: string };

export interface Tutorial {
  readonly title: string;
  readonly lead: string;
  readonly steps: readonly TutorialStep[];
}

/** Splits the tutorial at its second headings and its `redis` blocks. */
export function parseTutorial(markdown: string): Tutorial {
  const [head = '', ...sections] = markdown.split(/^## /m);
  const [title = '', ...lead] = head.replace(/^# /, '').split('\n');
  return {
    title,
    lead: lead.join('\n').trim(),
    steps: sections.map((section) => {
      const end = section.indexOf('\n');
      return { title: section.slice(0, end), parts: partsOf(section.slice(end + 1)) };
    }),
  };
}

function partsOf(section: string): TutorialPart[] {
  return section.split(/^```redis\n([\s\S]*?)^```$/m).flatMap((text, at): TutorialPart[] => {
    if (at % 2 === 1) return [{ kind: 'dialogue', lines: linesOf(text) }];
    return text.trim() === '' ? [] : [{ kind: 'prose', markdown: text.trim() }];
  });
}

/** `A> command` and `# 30 s pass`, each followed by the replies that it leads to. */
function linesOf(block: string): DialogueLine[] {
  const lines: DialogueLine[] = [];
  for (const row of block.trimEnd().split('\n')) {
    const [, client, command] = /^([A-Z])> (.*)$/.exec(row) ?? [];
    const [, seconds] = /^# (\d+) s pass$/.exec(row) ?? [];
    const last = lines.at(-1);
    if (client !== undefined)
      lines.push({ kind: 'command', client, command: command!, replies: '' });
    else if (seconds !== undefined)
      lines.push({ kind: 'wait', seconds: Number(seconds), replies: '' });
    else if (last === undefined) throw new Error(`a dialogue begins with a reply: ${row}`);
    else
      lines[lines.length - 1] = {
        ...last,
        replies: last.replies === '' ? row : `${last.replies}\n${row}`,
      };
  }
  return lines;
}

/** Replies as a dialogue shows them: those of other clients begin with their names. */
export function repliesText(
  replies: readonly { readonly client: string; readonly text: string }[],
  own: string | null,
): string {
  return replies
    .map(({ client, text }) => (client === own ? text : `${client}: ${text}`))
    .join('\n');
}

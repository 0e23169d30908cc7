import tutorial from 'virtual:tutorial';
import { useContext } from 'preact/hooks';
import { LanguageContext, useText } from '../preferences.ts';
import { Console, useConsole } from './console.tsx';

/** One step of the tutorial: its text with commands to click, and the console beside it. */
export function TutorialView({ step }: { readonly step: number }) {
  const text = useText();
  const { title, lead, steps } = tutorial[useContext(LanguageContext)];
  const console = useConsole();
  const at = Math.min(Math.max(step, 1), steps.length);
  const current = steps[at - 1]!;
  return (
    <div class="tutorial">
      <nav class="tutorial-steps" aria-label={text({ en: 'Steps', zh: '步骤' })}>
        <details open={matchMedia('(min-width: 60rem)').matches}>
          <summary>
            {text({
              en: `Step ${at} of ${steps.length}`,
              zh: `第 ${at} 步，共 ${steps.length} 步`,
            })}
          </summary>
          <ol>
            {steps.map((each, index) => (
              <li key={each.title}>
                <a
                  href={`#/tutorial/${index + 1}`}
                  aria-current={index + 1 === at ? 'step' : undefined}
                >
                  {each.title.replace(/^\d+\. /, '')}
                </a>
              </li>
            ))}
          </ol>
        </details>
      </nav>
      <article class="prose">
        <p class="kicker">{title}</p>
        <h1>{current.title}</h1>
        {at === 1 && <Prose html={lead} />}
        {current.parts.map((part, index) =>
          part.kind === 'prose' ? (
            <Prose key={index} html={part.html} />
          ) : (
            <ol key={index} class="dialogue">
              {part.lines.map((line, row) => (
                <li key={row}>
                  {line.kind === 'command' ? (
                    <button
                      type="button"
                      class={`command c${line.client.charCodeAt(0) - 65}`}
                      onClick={() => void console.run(line.client, line.command)}
                    >
                      <b>{line.client}</b> <code>{line.command}</code>
                    </button>
                  ) : (
                    <button
                      type="button"
                      class="command wait"
                      onClick={() => void console.wait(line.seconds)}
                    >
                      <span aria-hidden="true">◷</span> {text(waitText(line.seconds))}
                    </button>
                  )}
                  {line.replies !== '' && <pre class="reply-text">{line.replies}</pre>}
                </li>
              ))}
            </ol>
          ),
        )}
        <p class="turn-page">
          {at > 1 && <a href={`#/tutorial/${at - 1}`}>← {steps[at - 2]!.title}</a>}
          {at < steps.length && (
            <a class="button primary" href={`#/tutorial/${at + 1}`}>
              {steps[at]!.title} →
            </a>
          )}
        </p>
      </article>
      <Console console={console} />
    </div>
  );
}

function Prose({ html }: { readonly html: string }) {
  // Rendered at build time from docs/tutorial.md.
  return <div dangerouslySetInnerHTML={{ __html: html }} />;
}

function waitText(seconds: number) {
  const hours = seconds / 3600;
  return Number.isInteger(hours)
    ? { en: `wait ${hours} h`, zh: `等待 ${hours} 小时` }
    : { en: `wait ${seconds} s`, zh: `等待 ${seconds} 秒` };
}

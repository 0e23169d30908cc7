import { useEffect, useState } from 'preact/hooks';
import type { Text } from '../../../src/lab/index.ts';
import type { Claim, ClaimVerdict } from '../../../src/lab/report/claims/claim.ts';
import { useText } from '../preferences.ts';

/** The claims of the documents that runs of this recipe prove or refute. */
export function ClaimList({ recipe }: { readonly recipe: string }) {
  const text = useText();
  const [claims, setClaims] = useState<readonly Claim[]>([]);
  useEffect(() => {
    let isCurrent = true;
    void import('virtual:claims').then(({ default: all }) => {
      if (isCurrent) setClaims(all.filter((claim) => isAbout(claim, recipe)));
    });
    return () => {
      isCurrent = false;
    };
  }, [recipe]);
  return (
    <ul class="claims">
      {claims.map(({ number, verdict, claim, reason, rightForm }) => (
        <li key={number}>
          <p class="claim-text">
            <span class={`mark ${VERDICTS[verdict].mark}`}>{text(VERDICTS[verdict].text)}</span>{' '}
            <Prose text={text(claim)} />
          </p>
          <p>
            <Prose text={text(reason)} />
          </p>
          {rightForm !== null && (
            <p class="right-form">
              → <Prose text={text(rightForm)} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

const VERDICTS: Readonly<Record<ClaimVerdict, { readonly mark: string; readonly text: Text }>> = {
  right: { mark: 'holds', text: { en: '✓ right', zh: '✓ 正确' } },
  conditional: { mark: 'beyond', text: { en: '~ conditional', zh: '~ 有条件' } },
  wrong: { mark: 'fails', text: { en: '✗ wrong', zh: '✗ 错误' } },
};

function isAbout({ evidence }: Claim, recipe: string): boolean {
  return evidence.some((each) => 'recipe' in each && each.recipe === recipe);
}

/** A text with code between backquotes. */
function Prose({ text }: { readonly text: string }) {
  const parts = text.split('`');
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}

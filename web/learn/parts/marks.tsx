import catalog from 'virtual:catalog';
import { useId } from 'preact/hooks';
import type { CheckName, Text } from '../../../src/lab/index.ts';
import type { Finding } from '../catalog-types.ts';
import { useText } from '../preferences.ts';

/** The name of a check. A tooltip says what it means, for the mouse, the keyboard and screen readers. */
export function CheckLabel({ name }: { readonly name: CheckName }) {
  const text = useText();
  const id = useId();
  const about = catalog.checks.find((check) => check.name === name)!.about;
  return (
    <span class="tip">
      <button type="button" class="tip-name" aria-describedby={id}>
        {name}
      </button>
      <span class="tip-text" role="tooltip" id={id}>
        {text(about)}
      </span>
    </span>
  );
}

/** The verdict of a variant in one mark. */
export function FindingMark({ finding }: { readonly finding: Finding }) {
  const text = useText();
  if (finding.check !== null && !finding.keepsPromises) {
    return <span class="mark fails">✗ {finding.check}</span>;
  }
  return <span class="mark holds">✓ {text(finding.check === null ? HOLDS : KEPT)}</span>;
}

const HOLDS: Text = { en: 'nothing fails', zh: '没有问题' };
const KEPT: Text = { en: 'as promised', zh: '符合承诺' };

import { render } from 'preact';
import { App } from './app.tsx';
import { PageModel } from './model.ts';
import { applySettings, readSettings, type Settings, saveSettings } from './settings.ts';
import { startStream } from './stream.ts';
import './style.css';

/** After this time, lists that follow changes slowly are drawn once more. */
const TRAILING_MS = 300;

const root = document.getElementById('page')!;
const model = new PageModel();
let settings = readSettings();
let isScheduled = false;
let isTrailing = false;

applySettings(settings);
addEventListener('hashchange', schedule);
startStream(model, () => {
  schedule();
  if (isTrailing) return;
  isTrailing = true;
  setTimeout(() => {
    isTrailing = false;
    schedule();
  }, TRAILING_MS);
});
// Durations are shown in whole seconds.
setInterval(schedule, 1000);
schedule();

/** Draws the page in the next frame, once, however many messages come before it. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render(<App model={model} settings={settings} onSettings={change} />, root);
  });
}

function change(to: Settings): void {
  settings = to;
  applySettings(settings);
  saveSettings(settings);
  schedule();
}

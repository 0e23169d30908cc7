import '../theme.css';
import 'virtual:run.css';
import './style-base.css';
import './style-lab.css';
import './style-tutorial.css';
import './style-screens.css';
import { render } from 'preact';
import { App } from './app.tsx';

render(<App />, document.getElementById('app')!);

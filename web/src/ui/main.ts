/** Entry point: removes a sign-in code from the address first, then mounts the page. */

import "./style/theme.css";
import "./style/controls.css";
import "./style/shell.css";
import "./style/sign-in.css";
import "./style/side.css";
import "./style/threads.css";
import "./style/conversation.css";
import "./style/prose.css";
import "./style/reasoning.css";
import "./style/feedback.css";
import "./style/composer.css";
import "./style/palette.css";
import { App } from "./app.js";
import { monogramStyles } from "./monogram.js";
import { applyTheme, applyWidths } from "./prefs.js";

/** Returns the one-time sign-in code of the fragment and removes it from the address and the history. */
function takeCode(): string {
  const m = /^#code=([^&]{1,512})$/.exec(location.hash);
  if (m === null) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(m[1] as string);
  } catch {
    return "";
  }
}

applyTheme();
applyWidths();
if (monogramStyles.styleSheet !== undefined) document.adoptedStyleSheets = [...document.adoptedStyleSheets, monogramStyles.styleSheet];
const app = new App();
app.code = takeCode();
document.body.append(app);

/** The first module: takes a code out of the address before anything else, and puts the page in. */

import "./style/theme.css";
import "./style/controls.css";
import "./style/shell.css";
import "./style/door.css";
import "./style/side.css";
import "./style/talk.css";
import "./style/prose.css";
import "./style/reasoning.css";
import "./style/composer.css";
import { App } from "./app.js";

/** A code in the fragment signs one in once; nobody is to see it in the address or its history. */
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

const app = new App();
app.code = takeCode();
document.body.append(app);

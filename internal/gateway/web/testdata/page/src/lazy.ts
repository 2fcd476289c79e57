import { show } from "./shared";

export function lazy(): void {
  show("lazy", getComputedStyle(document.body).getPropertyValue("--styled").trim());
}

// Copying to the clipboard, also where the page is not served from this machine and the browser has no
// clipboard for it.

import { $ } from "./dom.js";

const byHand = (text) => {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus();
  return isDone;
};

/** Copies a text; whether that worked. */
const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return byHand(text);
  }
};

/** Copies a text and says so; `say` tells those who listen. */
export const copy = async (what, text, say) => {
  const words = (await copied(text)) ? `Copied: ${what}` : `The browser does not let the page copy: ${text}`;
  const toast = $("toast");
  toast.textContent = words;
  toast.classList.remove("shown");
  void toast.offsetWidth;
  toast.classList.add("shown");
  say(words);
};

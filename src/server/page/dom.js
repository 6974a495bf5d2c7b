// Elements. What comes from a server or a file goes in as text or as an attribute, never as markup.

const svgNames = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

/** An element of HTML; attributes that are null or false are left out, and `onclick` listens. */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** An element of SVG. */
export const s = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(svgNames, name), attributes, children);

/** Sets the width of an element in percent. A style attribute would not pass the policy of the page. */
export const wide = (node, percent) => {
  node.style.setProperty("width", `${percent}%`);
  return node;
};

/** Shows a section with new children, or hides it where there are none. */
export const section = (node, children) => {
  node.replaceChildren(...children);
  node.hidden = children.length === 0;
};

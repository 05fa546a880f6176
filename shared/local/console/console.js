// The console's script. Values from the server are written as text, never as markup.
"use strict";

const REFRESH_MS = 2000;
const TEXT_MAX = 300;
const READS_SHOWN = 20;
const ALIKE_SHOWN = 100;
const LONG = 72;

const state = { model: null, timer: 0, shown: 0 };
const main = document.getElementById("main");

// ---- Elements and texts

/** An element with attributes (or `on` handlers) and children; texts become text nodes. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  return add(element, ...children);
}

/** Adds children; what is nothing is left out. */
function add(element, ...children) {
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false && child !== ""));
  return element;
}

const link = (href, text, more = {}) => h("a", { href, ...more }, text);
const path = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");
const plural = (count, one, many = one + "s") => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const words = (name) => name.split(/(?=[A-Z_])|(?<=-)/).flatMap((part, at) => (at === 0 ? [part] : [document.createElement("wbr"), part]));
/** What stands between backticks as code. */
const ticked = (text) => String(text || "").split("`").map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));
const say = (text) => { document.getElementById("status").textContent = text; };
const cut = (text) => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${text.length} characters)` : text);

/** A value in DynamoDB's notation as plain JSON; numbers keep their digits. */
function plain(value) {
  const [type, held] = Object.entries(value)[0];
  switch (type) {
    case "S": case "B": return JSON.stringify(held);
    case "N": return held;
    case "NULL": return "null";
    case "L": return `[${held.map(plain).join(", ")}]`;
    case "M": return `{${Object.keys(held).sort().map((key) => `${JSON.stringify(key)}: ${plain(held[key])}`).join(", ")}}`;
    case "SS": case "BS": return `{${held.map((one) => JSON.stringify(one)).join(", ")}}`;
    case "NS": return `{${held.join(", ")}}`;
    default: return String(held);
  }
}

/** A value in DynamoDB's notation as JSON; numbers keep their digits, sets become lists. */
function json(value) {
  const [type, held] = Object.entries(value)[0];
  switch (type) {
    case "N": return held;
    case "NULL": return "null";
    case "L": return `[${held.map(json).join(",")}]`;
    case "M": return object(held, Object.keys(held));
    case "NS": return `[${held.join(",")}]`;
    default: return JSON.stringify(held);
  }
}

const object = (item, names) => `{${names.filter((name) => name in item).map((name) => `${JSON.stringify(name)}:${json(item[name])}`).join(",")}}`;

function text(value) {
  if (value == null) return "";
  return cut("S" in value ? value.S : "B" in value ? `base64 ${value.B}` : plain(value));
}

/** The classes of a value's cell: only a long one is broken into lines. */
const look = (kind, value) => (text(value).length > LONG ? `${kind} long` : kind);

// ---- Requests

/** A response: `{ok, body}`. A failure has a problem document for a body, whatever failed. */
async function ask(url, body) {
  const request = body == null ? {} : { method: "POST", headers: { "content-type": "application/json" }, body };
  try {
    const response = await fetch(url, request);
    return { ok: response.ok, body: await response.json() };
  } catch {
    return { ok: false, body: { title: "Not reached", detail: "The console's command does not answer: is it still running?", code: "no-answer" } };
  }
}

function problem(body) {
  return h("div", { class: "problem", role: "alert" },
    h("h2", {}, body.title || "Problem"),
    h("p", {}, ticked(body.detail)),
    body.hint && h("p", {}, "Hint: ", ticked(body.hint)),
    body.rejected && body.rejected.length > 0 && h("ul", { class: "plain" },
      body.rejected.map((one) => h("li", {}, h("b", {}, one.source), ": ", ticked(one.reason)))),
    body.suggestion && h("pre", {}, body.suggestion),
    h("p", { class: "note" }, "Code ", h("code", {}, body.code)));
}

// ---- Tables of values

/** A table that scrolls by itself, so that the page never does sideways; the keyboard can scroll it too. */
function scrolling(name, table) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, table);
}

function simple(name, caption, head, rows, more = {}) {
  return scrolling(name, h("table", { class: "rows", ...more }, h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, head.map((one) => h("th", { scope: "col", class: one.number && "number" }, one.name || one)))),
    h("tbody", {}, rows)));
}

const folded = (table) => new Set([table, ...table.indexes]
  .flatMap((place) => [...place.partition, ...place.sort])
  .filter((key) => key.templates.length > 0).map((key) => key.attribute));

/** The attributes of these items as columns: some first, then the declared ones, the others, and folded keys last. */
function columns(items, table, first) {
  const found = new Set(items.flatMap(Object.keys));
  const keys = folded(table);
  const own = [...table.partition, ...table.sort].map((key) => key.attribute);
  const declared = table.attributes.map((attribute) => attribute.name);
  const order = [...first, ...own, ...declared, ...[...found].sort()];
  const names = [...new Set(order)].filter((name) => found.has(name));
  return [...names.filter((name) => !keys.has(name)), ...names.filter((name) => keys.has(name))];
}

function template(key, table) {
  if (key.templates.length === 0) return h("code", { class: "template" }, key.attribute);
  const parts = (one) => one.split(/(\{[^}]*\})/).filter(Boolean).map((part) => (part.startsWith("{") ? h("b", {}, part) : part));
  const several = table.entities.length > 0 && key.templates.some((one) => one.entity);
  return [
    key.templates.map((one) => h("code", { class: "template" }, several && h("i", {}, one.entity || "others"), parts(one.template))),
    h("span", { class: "hint" }, "in ", h("code", {}, key.attribute)),
  ];
}

// ---- What can be taken away

/** A text with a button that copies it. */
function copied(name, source) {
  const pre = h("pre", { class: "plain" }, source);
  const copy = async () => {
    try { await navigator.clipboard.writeText(source); say(`${name} copied`); } catch { getSelection().selectAllChildren(pre); say("Selected: copy it with the keyboard"); }
  };
  return h("div", { class: "copied" }, h("h3", {}, name), h("button", { type: "button", "aria-label": `Copy ${name}`, on: { click: copy } }, "Copy"), pre);
}

const quoted = (word) => (/^[\w.,:=@%/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** A command with its words, and the option for the endpoint where it is not AWS. */
const command = (option, ...words) => [...words, ...(state.model.endpoint.startsWith("http") ? [option, state.model.endpoint] : [])].map(quoted).join(" ");

/** Programs that read this item. */
function programs(name, key) {
  const members = (bytes) => `{${Object.keys(key).map((one) => {
    const [type, held] = Object.entries(key[one])[0];
    return `${JSON.stringify(one)}: {"${type}": ${type === "B" ? bytes(JSON.stringify(held)) : JSON.stringify(held)}}`;
  }).join(", ")}}`;
  const binary = Object.values(key).some((value) => "B" in value);
  return h("details", { id: "programs" }, h("summary", {}, "Copy as a program"),
    copied("AWS CLI", command("--endpoint-url", "aws", "dynamodb", "get-item", "--consistent-read", "--table-name", name, "--key", JSON.stringify(key))),
    copied("boto3", `${binary ? "import base64\n" : ""}import boto3

item = boto3.client("dynamodb").get_item(
    TableName=${JSON.stringify(name)},
    Key=${members((held) => `base64.b64decode(${held})`)},
    ConsistentRead=True,
).get("Item")`),
    copied("AWS SDK for JavaScript v3", `import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

const { Item } = await new DynamoDBClient({}).send(new GetItemCommand({
  TableName: ${JSON.stringify(name)},
  Key: ${members((held) => `Buffer.from(${held}, "base64")`)},
  ConsistentRead: true,
}));`));
}

function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  say(`${name} saved`);
}

/** The items that were answered so far, as files. */
function exports(name, items, names) {
  const cell = (value) => {
    if (value == null) return "";
    const whole = "S" in value || "B" in value ? Object.values(value)[0] : json(value);
    return /[",\r\n]/.test(whole) ? `"${whole.replaceAll('"', '""')}"` : whole;
  };
  const csv = () => [names.map((one) => cell({ S: one })), ...items.map((item) => names.map((one) => cell(item[one])))].map((row) => `${row.join(",")}\r\n`).join("");
  const lines = () => items.map((item) => `${object(item, names)}\n`).join("");
  const save = (ending, type, content) => h("button", { type: "button", on: { click: () => download(`${name}.${ending}`, type, content()) } });
  return [add(save("jsonl", "application/x-ndjson", lines), "Save as JSON lines"), add(save("csv", "text/csv", csv), "Save as CSV")];
}

// ---- Views of tables

function keysTable(table) {
  const cell = (keys, kind) => h("td", { class: kind }, keys.length === 0 ? "–" : keys.map((key) => template(key, table)));
  const row = (name, href, kind, place, projection) => h("tr", {},
    h("th", { scope: "row" }, link(href, name)), h("td", {}, kind),
    cell(place.partition, "partition"), cell(place.sort, "sort"), h("td", {}, projection));
  const projected = (one) => (Array.isArray(one) ? h("code", {}, one.join(", ")) : one);
  return simple("Keys", "The keys of the table and its indexes. A template in braces is folded from the item's attributes.",
    ["Table or index", "Type", "Partition key", "Sort key", "Projection"],
    [row("table", path("tables", table.id, "content"), "table", table, "all"),
      ...table.indexes.map((one) => row(one.name, path("tables", table.id, "content", one.name), one.kind, one, projected(one.projection)))]);
}

function attributesTable(table) {
  return simple("Attributes", `${plural(table.attributes.length, "attribute is", "attributes are")} declared; others are carried along.`,
    ["Attribute", "Type", "Values", "Required"],
    table.attributes.map((one) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, one.name)), h("td", {}, one.type),
      h("td", {}, one.values ? one.values.join(", ") : "any"), h("td", {}, one.required ? "yes" : "no"))));
}

function tableView(table) {
  title(table.id, `${table.name} in DynamoDB`);
  add(main, 
    scopeNote(table),
    h("p", { class: "lead" }, link(path("tables", table.id, "item"), "Find an item"), " · ", link(path("tables", table.id, "content"), "See the contents")),
    h("h2", {}, "Keys and indexes"), keysTable(table),
    h("h2", {}, "Attributes"), attributesTable(table),
    h("h2", {}, "Questions"),
    table.questions.length === 0 ? h("p", { class: "lead" }, "The manifest has none.")
      : h("ul", { class: "plain" }, table.questions.map((one) => h("li", {}, link(path("questions", table.id, one.name), one.name)))));
}

function scopeNote(table) {
  if (table.scope.length === 0) return null;
  const fixed = table.scope.map((one) => `${one.attribute} is the caller's ${one.claim}`).join(" and ");
  return h("p", { class: "lead" }, `This table has a scope in the query API: ${fixed}. The console shows every item.`);
}

/** The address of an item's view, if the item has its whole key. */
function itemPath(table, item) {
  const names = [...table.partition, ...table.sort].map((key) => key.attribute);
  if (!names.every((name) => name in item)) return null;
  return `${path("tables", table.id, "item")}?${encodeURIComponent(JSON.stringify(Object.fromEntries(names.map((name) => [name, item[name]]))))}`;
}

function opening(table, item) {
  const href = table && itemPath(table, item);
  const name = href && [...table.partition, ...table.sort].map((key) => text(item[key.attribute])).join(", ");
  return h("td", { class: "open" }, href && link(href, "open", { "aria-label": `open ${name}` }));
}

const TYPES = { number: "N", binary: "B", boolean: "BOOL" };

/** Finds an item by its key, and shows it with all its keys. */
async function itemView(table, asked, turn) {
  title("Find an item", `of ${table.id}`);
  add(main, h("p", { class: "lead" }, link(path("tables", table.id), `All of ${table.id}`)));
  let key = {};
  try { key = JSON.parse(decodeURIComponent(asked || "{}")); } catch { /* an empty form */ }
  const keys = [...table.partition, ...table.sort];
  const kinds = new Map(table.attributes.map((one) => [one.name, TYPES[one.type] || "S"]));
  const made = [...new Set(keys.flatMap((one) => one.from))].filter((name) => !keys.some((one) => one.attribute === name));
  const fields = [...keys.map((one) => [one.attribute, one.type, one.templates.length > 0 && "as it is stored"]), ...made.map((name) => [name, kinds.get(name) || "S", "folded into the key"])];
  const inputs = fields.map(([name, type], at) => h("input", { id: `k${at}`, autocomplete: "off", spellcheck: "false", required: made.length === 0, value: key[name] && String(key[name][type] ?? "") }));
  const find = (event) => {
    event.preventDefault();
    const given = fields.map(([name, type], at) => [name, { [type]: type === "BOOL" ? inputs[at].value === "true" : inputs[at].value.trim() }]);
    location.hash = `${path("tables", table.id, "item")}?${encodeURIComponent(JSON.stringify(Object.fromEntries(given.filter((_, at) => inputs[at].value.trim()))))}`;
  };
  const results = h("div", { id: "results" });
  add(main, made.length > 0 && h("p", {}, "Give the key as it is stored, or all that it is folded from."),
    h("form", { on: { submit: find } },
      h("div", { class: "fields" }, fields.map(([name, type, hint], at) => h("div", { class: "field" }, h("label", { for: `k${at}` }, name, " ", h("i", {}, type)), inputs[at], hint && h("span", { class: "hint" }, hint)))),
      h("div", { class: "actions" }, h("button", { class: "main" }, "Find"))),
    results);
  if (!asked) return;
  const { ok, body } = await ask(`console/tables/${encodeURIComponent(table.id)}/item?key=${encodeURIComponent(JSON.stringify(key))}`);
  if (turn !== state.shown) return;
  results.replaceChildren(...(!ok ? [problem(body)] : body.item ? oneItem(table, body) : [h("p", { id: "absent" }, "There is no item with this key.")]));
  say(ok ? (body.item ? "The item is shown." : "There is no item with this key.") : "");
}

function oneItem(table, body) {
  const wanted = (one) => {
    if (!one.folded) return h("td", { class: "lead" }, "a separate attribute");
    if (one.right == null) return h("td", {}, "cannot be folded");
    return one.right ? h("td", { class: "good" }, "as it is folded") : h("td", { class: "bad" }, one.wanted == null ? "should not be there" : ["should be ", h("code", {}, one.wanted)]);
  };
  const rows = body.places.flatMap((place) => place.keys.map((one, at) => h("tr", {},
    at === 0 && h("th", { scope: "rowgroup", rowspan: place.keys.length }, place.name, place.absent && h("span", { class: "hint" }, "not in it: ", ticked(place.absent))),
    h("th", { scope: "row" }, h("code", {}, one.attribute)), h("td", { class: look("value", one.stored) }, one.stored ? text(one.stored) : "–"), wanted(one))));
  const names = columns([body.item], table, []);
  return [
    figures([["Size", body.bytes, "bytes"], ["Read units", body.consumedReadUnits]]),
    body.misfit && h("p", { class: "bad", id: "misfit" }, "It does not fit the manifest: ", ticked(body.misfit)),
    h("h2", {}, "Keys"),
    simple("Keys of the item", "Its keys in the table and in each index.", ["Table or index", "Key attribute", "Stored", "Folded"], rows, { id: "item-keys" }),
    h("h2", {}, "Attributes"),
    simple("Attributes of the item", plural(names.length, "attribute"), ["Attribute", "Type", "Value"], names.map((name) => h("tr", {},
      h("th", { scope: "row" }, h("code", {}, name)), h("td", {}, Object.keys(body.item[name])[0]), h("td", { class: look("value", body.item[name]) }, text(body.item[name])))), { id: "item" }),
    programs(body.name, body.key),
    h("div", { class: "actions" }, exports("item", [body.item], names)),
  ].filter(Boolean);
}

async function contentView(table, index, turn) {
  const place = index || table;
  title(index ? index.name : table.id, index ? `${index.kind} index of ${table.id}` : "contents of the table");
  add(main, h("p", { class: "lead" }, link(path("tables", table.id), `All of ${table.id}`), " · ", link(path("tables", table.id, "item"), "Find an item")));
  const box = h("div", { id: "content" }, h("p", { class: "lead" }, "Reading…"));
  add(main, box);
  const page = async (before) => {
    const query = new URLSearchParams({ ...(index && { index: index.name }), ...(before && { from: JSON.stringify(before.next) }) });
    const { ok, body } = await ask(`console/tables/${encodeURIComponent(table.id)}/entries?${query}`);
    if (turn !== state.shown) return;
    if (!ok) return void box.replaceChildren(problem(body));
    const all = before ? joined(before, body) : body;
    const summary = `${plural(all.entries, "entry", "entries")} in ${plural(all.collections.length, "item collection")}`;
    const next = h("button", { type: "button", id: "next", on: { click: (event) => { event.target.disabled = true; page(all); } } }, "Next entries");
    box.replaceChildren();
    add(box,
      h("p", { tabindex: "-1", id: "summary" }, summary, all.more ? `; there are more.` : ".",
        h("span", { class: "lead" }, ` ${plural(all.consumedReadUnits, "read unit")}.`)),
      absentNote(all.absent),
      all.entries > 0 && collections(table, place, all),
      all.next && h("div", { class: "actions" }, next));
    if (before) (all.next ? next : document.getElementById("summary")).focus({ preventScroll: true });
    say(`${index ? index.name : table.id}: ${summary}`);
  };
  await page(null);
}

/** What two views have together. An item collection may begin in one and end in the other. */
function joined(before, body) {
  const all = [...before.collections];
  const last = all[all.length - 1];
  const [first, ...others] = body.collections;
  const same = last && first && JSON.stringify(last.key) === JSON.stringify(first.key);
  if (same) all[all.length - 1] = { ...last, entries: [...last.entries, ...first.entries] };
  return { ...body, absent: before.absent, entries: before.entries + body.entries, consumedReadUnits: before.consumedReadUnits + body.consumedReadUnits,
    collections: [...all, ...(same ? others : body.collections)] };
}

function absentNote(absent) {
  if (!absent) return null;
  const looked = absent.more ? `Of the first ${absent.items} items of the table, ` : `Of the table's ${plural(absent.items, "item")}, `;
  if (absent.absent === 0) return h("p", { class: "lead", id: "absent" }, `${looked}all are in this index.`);
  return h("div", { id: "absent" },
    h("p", {}, `${looked}${absent.absent} ${absent.absent === 1 ? "is" : "are"} not in this index:`),
    h("ul", { class: "plain" }, absent.reasons.map((one) => h("li", {}, `${plural(one.items, "item")}: `, ticked(one.reason)))));
}

/** Item collections by partition key, each in the order of the sort key. */
function collections(table, place, body) {
  const items = body.collections.flatMap((one) => one.entries);
  const keys = [...body.partition, ...body.sort];
  const late = folded(table);
  const rest = columns(items, table, []).filter((name) => !keys.includes(name));
  const span = (name, count) => count > 0 && h("th", { colspan: count, scope: "colgroup", class: name === "partition key" ? "partition" : name === "sort key" && "sort" }, name);
  const head = (name, kind) => h("th", { scope: "col", class: kind }, h("code", {}, name));
  const group = (one) => h("tbody", {}, one.entries.map((item, at) => h("tr", {},
    at === 0 && one.key.map((value, part) => h("th", { scope: "rowgroup", rowspan: one.entries.length, class: look("partition value", value) },
      text(value), part === 0 && (body.sort.length > 0 || one.entries.length > 1) && h("span", { class: "count" }, plural(one.entries.length, "entry", "entries")))),
    body.sort.map((name) => h("th", { scope: "row", class: look("sort value", item[name]) }, text(item[name]))),
    rest.map((name) => h("td", { class: look(late.has(name) ? "value folded" : "value", item[name]) }, text(item[name]))), opening(table, item))));
  return scrolling("Item collections", h("table", { id: "collections" },
    h("caption", {}, h("span", {}, "Item collections by partition key, each in the order of its sort key. Partitions themselves have no order in DynamoDB.")),
    h("thead", {},
      h("tr", { class: "group" }, span("partition key", body.partition.length), span("sort key", body.sort.length), span("attributes", rest.length + 1)),
      h("tr", {}, body.partition.map((name) => head(name, "partition")), body.sort.map((name) => head(name, "sort")), rest.map((name) => head(name)), h("th", { scope: "col" }, "item"))),
    body.collections.map(group)));
}

// ---- Questions

const WORDS = { "=": "is", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least", between: "is between", beginsWith: "begins with", contains: "contains", in: "is one of", exists: "is there" };
const EXAMPLES = { timestamp: "2017-03-01T08:00:00Z", date: "2017-03-01", number: "a number", binary: "base64" };

/** The inputs of a parameter: an element, and the values that they hold. */
function field(one, at) {
  const id = `p${at}`;
  const optional = one.required ? "" : " (optional)";
  const name = [`${one.attribute} `, h("i", {}, WORDS[one.operator] + optional)];
  const hint = h("span", { class: "hint" }, one.values ? "one of the listed values" : one.type);
  const number = one.type === "number" || one.type === "number-set";
  const input = (more = {}) => h("input", { id, name: one.name, autocomplete: "off", spellcheck: "false", inputmode: number && "decimal", required: one.required, placeholder: one.operator === "beginsWith" ? (one.type === "timestamp" ? "2017-03" : null) : EXAMPLES[one.type], ...more });
  const given = (inputs) => inputs.map((each) => each.value.trim()).filter(Boolean);
  if (one.operator === "between") {
    const ends = [input({ id: `${id}a`, "aria-label": `${one.attribute} from` }), input({ id: `${id}b`, "aria-label": `${one.attribute} to` })];
    return { element: h("fieldset", { class: "field wide" }, h("legend", {}, name), h("div", { class: "pair" }, ends), h("span", { class: "hint" }, `${one.type}; both ends are included`)), values: () => given(ends), fill: (all) => ends.forEach((end, at) => { end.value = all[at] || ""; }) };
  }
  if (one.operator === "in" && one.values) {
    const boxes = one.values.map((value) => h("input", { type: "checkbox", value }));
    return { element: h("fieldset", { class: "field" }, h("legend", {}, name), h("div", { class: "choices" }, boxes.map((box) => h("label", {}, box, box.value)))), values: () => boxes.filter((box) => box.checked).map((box) => box.value), fill: (all) => boxes.forEach((box) => { box.checked = all.includes(box.value); }) };
  }
  const choices = one.operator === "exists" || one.type === "boolean" ? ["true", "false"] : one.operator === "in" ? null : one.values;
  const single = choices ? h("select", { id, name: one.name, required: one.required }, h("option", { value: "" }, one.required ? "choose" : "any"), choices.map((value) => h("option", { value }, value))) : input();
  return { element: h("div", { class: "field" }, h("label", { for: id }, name), single, one.operator === "in" ? h("span", { class: "hint" }, `${one.type}; several values, separated by commas`) : hint), values: () => given([single]), fill: (all) => { single.value = all.join(","); } };
}

/** Notes in the address what was asked, so that it can be shared and found again. */
function noted(asked) {
  const hash = `${location.hash.split("?")[0]}?${asked}`;
  if (hash !== location.hash) history.pushState(null, "", hash);
}

function questionView(table, question, asked) {
  title(question.name, `a question to ${table.id}`);
  const facts = [
    question.entities.length > 0 && `entity ${question.entities.join(", ")}`,
    question.order.length > 0 && `sorted by ${question.order.map((one) => (one.startsWith("-") ? `${one.slice(1)}, descending` : one)).join(", ")}`,
    question.limit && `at most ${question.limit} items`,
    question.consistent && "strongly consistent",
    question.scan && "may scan",
  ].filter(Boolean).join("; ");
  const fields = question.parameters.map(field);
  const limit = h("input", { id: "limit", inputmode: "numeric", autocomplete: "off", placeholder: question.limit ? String(question.limit) : "" });
  const results = h("div", { id: "results" });
  const given = () => {
    const query = new URLSearchParams();
    question.parameters.forEach((one, at) => fields[at].values().forEach((value) => query.append(one.name, value)));
    if (limit.value.trim()) query.set("limit", limit.value.trim());
    return query;
  };
  const run = (page) => {
    const query = given();
    query.set("explain", "true");
    query.set("format", "dynamodb");
    if (page) query.set("page", page);
    return ask(`tables/${encodeURIComponent(table.id)}/questions/${encodeURIComponent(question.name)}?${query}`);
  };
  const submit = (event) => {
    if (event) event.preventDefault();
    const words = [...given()].map(([name, value]) => `${name}=${value}`);
    noted(given());
    answer(results, { table: () => table, first, name: question.name, command: command("--endpoint", "keyfold", "ask", question.name, ...words) }, run);
  };
  const first = [...(question.select || []), ...question.parameters.map((one) => one.attribute)];
  add(main, 
    facts && h("p", { class: "lead" }, facts[0].toUpperCase() + facts.slice(1) + "."),
    h("form", { on: { submit } },
      h("div", { class: "fields" }, fields.map((one) => one.element),
        h("div", { class: "field" }, h("label", { for: "limit" }, "limit ", h("i", {}, "(optional)")), limit, h("span", { class: "hint" }, "items of one page"))),
      h("div", { class: "actions" }, h("button", { class: "main" }, "Ask"))),
    results);
  if (!asked) return;
  const shared = new URLSearchParams(asked);
  question.parameters.forEach((one, at) => fields[at].fill(shared.getAll(one.name)));
  limit.value = shared.get("limit") || "";
  submit();
}

/** A request that gives something, or tells what is missing: a look at a few items, or the first question with values of the right types. */
function firstRequest() {
  const { tables, allowScan } = state.model;
  const table = tables.find((one) => one.questions.length > 0) || tables[0];
  if (!table) return {};
  if (allowScan && table.scope.length === 0) return { table: table.id, scan: true, limit: 10 };
  const asked = table.questions[0] ? table.questions[0].parameters.filter((one) => one.required) : table.partition.map((one) => ({ attribute: one.attribute, operator: "=" }));
  const example = (one) => (one.values && one.values[0]) || (one.type === "number" ? 1 : EXAMPLES[one.type]) || "some value";
  const condition = (one) => (one.operator === "=" ? example(one) : { [one.operator]: one.operator === "between" || one.operator === "in" ? [example(one), example(one)] : one.operator === "exists" ? true : example(one) });
  return { table: table.id, where: Object.fromEntries(asked.map((one) => [one.attribute, condition(one)])), limit: 10 };
}

function requestView(asked) {
  title("Free request", "any request, as JSON");
  const area = h("textarea", { id: "request", spellcheck: "false", "aria-describedby": "request-hint" });
  area.value = JSON.stringify(firstRequest(), null, 2);
  try { if (asked) area.value = decodeURIComponent(asked); } catch { /* the first request */ }
  const results = h("div", { id: "results" });
  const known = () => {
    try { const name = JSON.parse(area.value).table; return state.model.tables.find((one) => one.id === name || one.name === name); } catch { return null; }
  };
  const run = (page) => ask("query?format=dynamodb", having(area.value, { explain: true, page }));
  const explain = async () => {
    const { ok, body } = await ask("explain", area.value);
    results.replaceChildren(...(ok ? [h("h2", {}, "Plan"), plan(body)] : [problem(body)]));
    say(ok ? "The plan is shown; nothing was read." : "");
  };
  const submit = (event) => {
    if (event) event.preventDefault();
    noted(encodeURIComponent(area.value));
    answer(results, { table: known, first: [], name: "answer", command: command("--endpoint", "keyfold", "query", "--request", area.value) }, run);
  };
  add(main, h("form", { on: { submit } },
    h("label", { for: "request" }, "Request"), area,
    h("span", { class: "hint", id: "request-hint" }, "where: {\"attribute\": value} or {\"attribute\": {\"between\": [low, high]}}; also and, or, not. Control+Enter runs it."),
    h("div", { class: "actions" }, h("button", { class: "main" }, "Ask"), h("button", { type: "button", on: { click: explain } }, "Show the plan only"))),
  results);
  area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event); });
  if (asked) submit();
}

/** A request with these members, unless it has them. As text: this script's numbers are doubles, and DynamoDB's are not. */
function having(source, more) {
  const at = source.indexOf("{") + 1;
  const lacking = Object.entries(more).filter(([name, value]) => value && !new RegExp(`"${name}"\\s*:`).test(source));
  const members = lacking.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(", ");
  if (at === 0 || members === "") return source;
  const rest = source.slice(at);
  return source.slice(0, at) + members + (rest.trimStart().startsWith("}") ? "" : ", ") + rest;
}

/** Asks, and shows what comes back; the next page comes below the one before. */
async function answer(results, asked, run) {
  const turn = state.shown;
  const button = main.querySelector("form button.main");
  const page = async (token, before) => {
    button.disabled = true;
    const { ok, body } = await run(token);
    button.disabled = false;
    if (turn !== state.shown) return;
    if (!ok) { say(""); results.replaceChildren(problem(body)); return; }
    const items = body.items || [];
    const all = { items: [...before.items, ...items], units: before.units + body.consumedReadUnits, read: before.read + (body.itemsRead || 0), pages: before.pages + 1 };
    const more = body.page && h("div", { class: "actions" }, h("button", { type: "button", id: "next", on: { click: () => page(body.page, all) } }, "Next page"));
    const table = asked.table();
    const names = table ? columns(all.items, table, asked.first) : [...new Set(all.items.flatMap(Object.keys))].sort();
    const summary = body.items ? plural(all.items.length, "item") : `count: ${body.count}`;
    results.replaceChildren(
      h("h2", { id: "answer", tabindex: "-1" }, `${summary}${body.page ? ", and there may be more" : ""}`),
      ...[all.items.length > 0 && answerTable(all.items, table, names), more].filter(Boolean),
      ...(all.items.length > 0 ? [h("div", { class: "actions", id: "exports" }, exports(asked.name, all.items, names))] : []),
      figures([
        ["Read units consumed", all.units],
        ["Read units expected", body.plan ? body.plan.estimatedReadUnits : "–", all.pages > 1 && "a page"],
        ["Items read", body.itemsRead == null ? "–" : all.read],
        ["Items returned", body.items ? all.items.length : body.count],
      ]),
      ...(body.plan ? [h("h2", {}, "Plan"), plan(body.plan)] : []),
      h("details", { id: "programs" }, h("summary", {}, "Copy as a command"), copied("command", asked.command)));
    // The window stays where it is: the new rows come where the button was.
    if (token) (document.getElementById("next") || document.getElementById("answer")).focus({ preventScroll: true });
    say(`${summary}, ${plural(all.units, "read unit")}`);
  };
  await page(null, { items: [], units: 0, read: 0, pages: 0 });
}

function answerTable(items, table, names) {
  const late = table ? folded(table) : new Set();
  const opens = table && items.some((item) => itemPath(table, item));
  return scrolling("Answer", h("table", { id: "items" }, h("caption", {}, h("span", {}, "The answer, in its order.")),
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, h("code", {}, name))), opens && h("th", { scope: "col" }, "item"))),
    h("tbody", {}, items.map((item) => h("tr", {}, names.map((name) => h("td", { class: look(late.has(name) ? "value folded" : "value", item[name]) }, text(item[name]))), opens && opening(table, item))))));
}

function figures(all) {
  return h("dl", { class: "figures" }, all.filter(Boolean).map(([name, value, note]) => h("div", {},
    h("dt", {}, name), h("dd", {}, String(value), note && h("small", {}, ` ${note}`)))));
}

/** Reads that differ in nothing but their values, together: a fan-out is one thing. */
function alike(reads) {
  const groups = new Map();
  const shape = (source) => String(source || "").replace(/"(?:[^"\\]|\\.)*"/g, "?").replace(/-?\b\d[\d.]*\b/g, "?");
  for (const read of reads) {
    const kind = JSON.stringify([read.operation, read.source, shape(read.keyCondition), shape(read.filter), shape(read.recheck), read.missingAttributes, read.descending]);
    groups.set(kind, [...(groups.get(kind) || []), read]);
  }
  return [...groups.values()];
}

function plan(one) {
  const lines = (read) => [
    read.keyCondition && h("code", { class: "template" }, read.keyCondition),
    read.filter && h("span", { class: "template" }, "filter ", h("code", {}, read.filter)),
    read.recheck && h("span", { class: "template" }, "then checked ", h("code", {}, read.recheck)),
    read.missingAttributes && h("span", { class: "hint" }, `missing attributes: ${read.missingAttributes}`),
    !read.keyCondition && !read.filter && "everything",
  ];
  const groups = alike(one.reads);
  const others = (group) => group.length > 1 && h("details", {}, h("summary", {}, `${group.length} reads, alike but for their values`),
    h("ul", { class: "plain" }, group.slice(0, ALIKE_SHOWN).map((read) => h("li", {}, lines(read))), group.length > ALIKE_SHOWN && h("li", {}, `and ${group.length - ALIKE_SHOWN} more`)));
  const reads = groups.slice(0, READS_SHOWN).map((group) => h("tr", {},
    h("th", { scope: "row" }, `${group[0].operation} ${group[0].source}`, group.length > 1 && h("b", { class: "times" }, ` × ${group.length}`)),
    h("td", {}, lines(group[0]), others(group)), h("td", {}, group[0].descending ? "descending" : "ascending")));
  const left = groups.length - reads.length;
  return h("div", {},
    h("p", { class: "lead" }, `${one.delivery[0].toUpperCase()}${one.delivery.slice(1)}. ${plural(one.estimatedReadUnits, "read unit")} expected.`),
    reads.length > 0 && simple("Reads", left > 0 ? `${plural(one.reads.length, "read")}; the first ${reads.length} of ${groups.length} kinds.` : `${plural(one.reads.length, "read")}.`, ["Read", "Key condition", "Order"], reads, { id: "reads" }),
    one.rejected.length > 0 && [h("h2", {}, "Rejected"), simple("Rejected", "Why the other tables and indexes were rejected.", ["Table or index", "Reason"],
      one.rejected.map((turned) => h("tr", {}, h("th", { scope: "row" }, turned.source), h("td", {}, ticked(turned.reason)))), { id: "rejected" })]);
}

// ---- Retrofits

async function retrofitView(retrofit, turn) {
  title(retrofit.name, retrofit.from === retrofit.to ? `a retrofit of ${retrofit.from}, in place` : `a retrofit from ${retrofit.from} to ${retrofit.to}`);
  const box = h("div", { id: "retrofit" });
  add(main, box);
  let before = "";
  let announced = "";
  let asking = false;
  const refresh = async () => {
    if (asking) return;
    clearTimeout(state.timer);
    asking = true;
    const { ok, body } = await ask(`console/retrofits/${encodeURIComponent(retrofit.name)}`);
    asking = false;
    if (turn !== state.shown) return;
    const news = ok && body.started ? `${body.phase}, ${body.segmentsDone} of ${plural(body.segments, "segment")} backfilled, ${plural(body.gates.length, "gate")} closed, ${body.quarantined} in quarantine` : "";
    if (news !== announced) say(announced = news);
    const now = JSON.stringify({ ...body, comparedSecondsAgo: Math.floor(body.comparedSecondsAgo / 60), lagSecondsAgo: Math.floor(body.lagSecondsAgo / 60) });
    if (now !== before) {
      const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
      box.replaceChildren(...(ok ? progressOf(body) : [problem(body)]));
      if (focused && !document.activeElement.isConnected) [...box.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === focused)?.focus();
      before = now;
    }
    // A hidden page sends no requests.
    if (!document.hidden) state.timer = setTimeout(refresh, REFRESH_MS);
  };
  state.refresh = refresh;
  await refresh();
}

/** The phases before the cut-over: only there do gates say anything. */
const FILLING = ["running", "tidying", "tidy"];
const AGO = (seconds) => (seconds < 60 ? "just now" : `${plural(Math.floor(seconds / 60), "minute")} ago`);
const DIFFERENCES = (count) => (count == null ? "not compared" : count === 0 ? "none" : String(count));

function progressOf(body) {
  const protocol = h("p", { class: "lead" }, `Protocol ${body.protocol}: `, ticked(body.because), ".");
  if (!body.started) return [protocol, h("p", {}, "This retrofit was not started."), h("pre", { class: "plain" }, `keyfold retrofit run ${body.retrofit}`)];
  const items = body.passes.filter((one) => one.pass === "backfill").reduce((sum, one) => sum + (one.counts.items || 0), 0);
  return [
    protocol,
    h("p", { id: "phase" }, h("b", {}, body.phase), ": ", ticked(body.means), ".", body.shown !== body.phase && [" Now ", ticked(body.shown.slice(body.phase.length + 2)), "."]),
    figures([
      ["Phase", body.phase],
      ["Segments backfilled", body.segmentsDone, `of ${body.segments}`],
      ["Items read", items.toLocaleString("en")],
      ["Quarantine", body.quarantined],
      ["Differences", DIFFERENCES(body.differences), body.differences != null && `the comparison started ${AGO(body.comparedSecondsAgo)}`],
      ["Epoch", body.epoch, body.stream ? "with a stream" : "without a stream"],
      body.stream && ["Lag", body.lagMilliseconds == null ? "unknown" : `${Math.ceil(body.lagMilliseconds / 1000)} s`, body.lagMilliseconds == null ? "the replicator has carried nothing over" : `as the replicator said ${AGO(body.lagSecondsAgo)}`],
      body.late > 0 && ["Late writes", body.late, `see keyfold retrofit quarantine ${body.retrofit}`],
    ]),
    body.denied.length > 0 && h("ul", { class: "plain", id: "denied" }, body.denied.map((one) => h("li", {}, `Writes of ${one.who} to table `, h("code", {}, one.table), " are denied."))),
    body.segments > 0 && h("progress", { max: body.segments, value: body.segmentsDone, "aria-label": "Segments backfilled" }),
    FILLING.includes(body.phase) && h("h2", {}, "Gates"),
    !FILLING.includes(body.phase) ? null : body.gates.length === 0 ? h("p", { class: "good" }, "Nothing blocks the switch.")
      : [h("p", {}, "You cannot switch yet:"), h("ul", { class: "plain", id: "gates" }, body.gates.map((gate) => h("li", {}, ticked(gate.message), " ", h("code", { class: "lead" }, gate.code))))],
    h("h2", {}, "Passes"),
    body.passes.length === 0 ? h("p", { class: "lead" }, "There is none yet.") : passes(body),
    h("h2", {}, "Quarantine"),
    body.quarantined === 0 ? h("p", { class: "lead" }, "Empty.") : [misfits(body), quarantine(body)],
  ].flat(2).filter(Boolean);
}

/** Why items do not fit, by attribute and reason. */
function misfits(body) {
  if (body.misfits.length === 0) return null;
  const key = (one) => Object.keys(one).sort().map((name) => `${name} = ${text(one[name])}`).join(", ");
  return simple("Misfits", "Items that could not be carried over, by reason.", ["Attribute", "Reason", "Index", { name: "Items", number: true }, "Examples"], body.misfits.map((one) => h("tr", {},
    h("td", {}, one.attribute ? h("code", {}, one.attribute) : "–"), h("td", {}, one.reason), h("td", {}, one.index || "–"), h("td", { class: "number" }, one.items.toLocaleString("en")),
    h("td", { class: "value long" }, one.examples.map(key).join("; ")))), { id: "misfits" });
}

function passes(body) {
  return [...new Set(body.passes.map((one) => one.pass))].map((name) => {
    const segments = body.passes.filter((one) => one.pass === name);
    const kinds = [...new Set(segments.flatMap((one) => Object.keys(one.counts)))].sort((a, b) => (a === "items" ? -1 : b === "items" ? 1 : a < b ? -1 : 1));
    const count = (one, kind) => h("td", { class: "number" }, (one.counts[kind] || 0).toLocaleString("en"));
    const sum = { counts: Object.fromEntries(kinds.map((kind) => [kind, segments.reduce((total, one) => total + (one.counts[kind] || 0), 0)])) };
    const done = segments.filter((one) => one.done).length;
    return simple(name, `${name}: ${done} of ${plural(segments[0].total, "segment")} done${body.passesMore ? "; not all are shown" : ""}.`,
      ["Segment", "State", ...kinds.map((kind) => ({ name: kind, number: true }))],
      [...segments.map((one) => h("tr", {}, h("th", { scope: "row" }, String(one.segment)), h("td", { class: one.done && "good" }, one.done ? "done" : "in progress"), kinds.map((kind) => count(one, kind)))),
        segments.length > 1 && h("tr", { class: "total" }, h("th", { scope: "row" }, "all"), h("td", {}, ""), kinds.map((kind) => count(sum, kind)))],
      { id: `pass-${name}` });
  });
}

function quarantine(body) {
  const held = body.quarantine;
  const caption = held.more ? `The first ${held.entries.length} of ${body.quarantined}.` : `${plural(body.quarantined, "item")} could not be carried over.`;
  const key = (one) => (one.key ? Object.keys(one.key).sort().map((name) => `${name} = ${text(one.key[name])}`).join(", ") : "a record without a key");
  return simple("Quarantine", caption, ["Key of the source item", "Reason"],
    held.entries.map((one) => h("tr", {}, h("td", { class: "value" }, key(one)), h("td", {}, h("code", {}, one.code)))), { id: "quarantine" });
}

// ---- The page

function title(name, small) {
  document.title = `${name} – Keyfold console`;
  main.replaceChildren(h("h1", { tabindex: "-1" }, words(name), " ", h("small", {}, small)));
}

function navigation() {
  const { tables, retrofits } = state.model;
  const item = (href, name, ...more) => h("li", {}, link(href, words(name)), more);
  const asked = tables.filter((table) => table.questions.length > 0);
  document.getElementById("nav").replaceChildren(...[
    h("h2", {}, "Tables"),
    h("ul", {}, tables.map((table) => item(path("tables", table.id), table.id, h("ul", {},
      item(path("tables", table.id, "content"), "content"),
      table.indexes.map((one) => item(path("tables", table.id, "content", one.name), one.name)))))),
    h("h2", {}, "Questions"),
    h("ul", {}, asked.map((table) => h("li", {}, h("span", { class: "of" }, table.id),
      h("ul", {}, table.questions.map((one) => item(path("questions", table.id, one.name), one.name))))),
    item(path("request"), "Free request")),
    retrofits.length > 0 && h("h2", {}, "Retrofits"),
    retrofits.length > 0 && h("ul", {}, retrofits.map((one) => item(path("retrofits", one.name), one.name))),
  ].filter(Boolean));
}

function show(focus) {
  clearTimeout(state.timer);
  state.refresh = null;
  const turn = ++state.shown;
  const { tables, retrofits } = state.model;
  let parts = [];
  const [way, ...rest] = location.hash.split("?");
  const asked = rest.join("?");
  try { parts = way.slice(2).split("/").filter(Boolean).map(decodeURIComponent); } catch { /* shown as not there */ }
  const [kind, name, third, fourth] = parts;
  const table = tables.find((one) => one.id === (kind ? name : tables[0] && tables[0].id));
  const question = table && table.questions.find((one) => one.name === third);
  const index = table && table.indexes.find((one) => one.name === fourth);
  const retrofit = retrofits.find((one) => one.name === name);
  main.replaceChildren();
  if ((!kind || (kind === "tables" && !third)) && table) tableView(table);
  else if (kind === "tables" && table && third === "content" && (index || !fourth)) contentView(table, index, turn);
  else if (kind === "tables" && table && third === "item") itemView(table, asked, turn);
  else if (kind === "questions" && question) questionView(table, question, asked);
  else if (kind === "request") requestView(asked);
  else if (kind === "retrofits" && retrofit) retrofitView(retrofit, turn);
  else { title("Nothing here", ""); add(main, h("p", { class: "lead" }, "The manifest has nothing with this name.")); }
  const here = kind ? way : table && path("tables", table.id);
  document.querySelectorAll("nav a").forEach((one) => {
    if (one.getAttribute("href") === here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  });
  menu(false);
  if (focus) { main.querySelector("h1").focus(); scrollTo(0, 0); }
}

function menu(open) {
  document.getElementById("menu").setAttribute("aria-expanded", String(open));
  document.getElementById("nav").classList.toggle("open", open);
}

async function start() {
  const { ok, body } = await ask("console/model");
  if (!ok) { title("Keyfold console", ""); add(main, problem(body)); return; }
  state.model = body;
  document.getElementById("facts").textContent = `${body.endpoint} · at most ${body.readUnitsMax} read units a request`;
  navigation();
  show(false);
}

addEventListener("hashchange", () => { if (state.model && location.hash.startsWith("#/")) show(true); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && state.refresh) state.refresh(); });
document.getElementById("menu").addEventListener("click", (event) => menu(event.currentTarget.getAttribute("aria-expanded") !== "true"));
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
start();

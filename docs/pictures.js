// Draws the Mermaid blocks of a page, in the colours of its theme. `.ci/book` puts mermaid.min.js next to the pages; without it they stay text.
const blocks = [...document.querySelectorAll("code.language-mermaid")];
if (blocks.length > 0) {
  const script = document.createElement("script");
  script.src = `${path_to_root}mermaid.min.js`;
  script.onload = async () => {
    const dark = ["navy", "coal", "ayu"].some((theme) => document.documentElement.classList.contains(theme));
    mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "default" });
    for (const block of blocks) {
      const picture = document.createElement("div");
      picture.className = "mermaid";
      picture.textContent = block.textContent;
      block.parentElement.replaceWith(picture);
    }
    await mermaid.run();
    document.body.dataset.pictures = String(blocks.length);
  };
  document.head.append(script);
}

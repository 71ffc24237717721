// Puts a button beside each block of text that copies it, without the prompts and outputs of a console.
// The site is read from files, too, where a browser may offer no clipboard: then there is no button.
addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll(".highlight pre")) {
    const lines = block.textContent.trimEnd().split("\n");
    const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.onclick = async () => {
      await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n") + "\n");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    block.parentElement.append(button);
  }
});

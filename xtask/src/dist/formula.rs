//! The Homebrew formula for Linux: where the archive is, its digest, and how it is installed.

use anyhow::Result;

use super::Release;

pub(super) fn write(release: &Release) -> Result<()> {
    let archive = release.name(".tar.gz");
    let formula = format!(
        r##"class Neap < Formula
  desc "Bounded context and long-term memory for LLM agents"
  homepage "{homepage}"
  url "{url}"
  version "{version}"
  sha256 "{digest}"
  license any_of: ["Apache-2.0", "MIT"]

  depends_on arch: :x86_64
  depends_on :linux

  def install
    bin.install "neap"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/neap.bash" => "neap"
    zsh_completion.install "completions/_neap"
    fish_completion.install "completions/neap.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/neap --version")
    ENV["NEAP_DATA_DIR"] = testpath/"data"
    system bin/"neap", "remember", "The gateway listens on port 8443"
    assert_match "8443", shell_output("#{{bin}}/neap recall gateway")
  end
end
"##,
        homepage = release.publisher.homepage(),
        url = release.publisher.address_of(&release.version, &archive),
        version = release.version,
        digest = release.digest_of(&archive)?,
    );
    release.write("neap.rb", formula.as_bytes())
}
